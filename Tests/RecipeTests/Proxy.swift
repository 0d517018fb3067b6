import Foundation
import GatewayTesting

/// A program that a recipe puts in front of the gateway, as Debian has it.
enum Proxy {
    static let hasNginx = NginxServer.isInstalled
    static let hasHAProxy = (try? ChildProcess.run("haproxy", ["-v"]))?.status == .exited(0)
}

/// A running HAProxy, with a page of its own that a test asks.
final class HAProxy {
    private let process: ChildProcess
    private let socketPath: String

    /// Waits until it has found every server of its backends up.
    init(_ configuration: String, in directory: ScratchDirectory) throws {
        let name = String(UUID().uuidString.prefix(8))
        socketPath = directory.path(of: name)
        let path = try directory.write(
            """
            \(configuration)
            listen watched
                mode http
                bind unix@\(socketPath)
                stats enable
                stats uri /

            """, to: "haproxy-\(name).cfg")
        process = try ChildProcess("haproxy", ["-db", "-f", path])
        try awaitServers { !$0.isEmpty && $0.allSatisfy { $0.value == "UP" } }
    }

    /// What it says of each server: no event tells, so it is asked.
    private func servers() throws -> [String: String] {
        let asked = try ChildProcess.run(
            "curl", ["-sS", "--unix-socket", socketPath, "http://localhost/;csv"])
        var found: [String: String] = [:]
        for line in asked.standardOutput.split(separator: "\n").dropFirst() {
            let cells = line.split(separator: ",", omittingEmptySubsequences: false)
            guard cells.count > 17, !["FRONTEND", "BACKEND"].contains(cells[1]) else { continue }
            found[String(cells[1])] = String(cells[17])
        }
        return found
    }

    func stop() throws {
        process.terminate()
        try process.waitForExit()
    }

    func awaitServers(_ isTrue: ([String: String]) -> Bool) throws {
        let limit = ChildProcess.deadline
        var last: [String: String] = [:]
        while Date() < limit {
            if let status = process.exitStatus {
                let words = process.text(on: .standardError)
                throw RecipeError("haproxy: \(status) \(words)")
            }
            last = (try? servers()) ?? [:]
            if isTrue(last) { return }
            _ = poll(nil, 0, 20)
        }
        throw RecipeError("haproxy says \(last): \(process.text(on: .standardError))")
    }
}
