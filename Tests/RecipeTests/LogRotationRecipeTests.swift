import Foundation
import GatewayTesting
import JSON
import Testing

private let hasLogrotate =
    (try? ChildProcess.run("logrotate", ["--version"]))?.status == .exited(0)

/// `docs/recipes/log-rotation.md`.
@Suite(
    "The recipe for log rotation",
    .enabled(if: BuiltProgram.isBuilt && hasLogrotate, "logrotate is not installed"))
struct LogRotationRecipeTests {
    private let directory: ScratchDirectory
    private let gateway: ChildProcess
    private let port = FreePort.find()
    private var logs: String { directory.path(of: "logs") }

    init() throws {
        directory = try ScratchDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.path(of: "logs"), withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o750])
        let page = try Recipe("log-rotation").page
        let log = try #require(page.split(separator: "\n").first { $0.hasPrefix("log: ") })
        var configuration = GatewayConfiguration(upstreamPort: 1)
        configuration.routes = [
            .init("fixed", path: "/*", upstream: "", more: ["respond: { status: 200 }"])
        ]
        configuration.more.append(
            try String(log).moved(["/var/log/sallyport": directory.path(of: "logs")]))
        let path = try directory.write(
            configuration.text(
                port: port, adminPort: FreePort.find(), directory: directory.path),
            to: "sallyport.yaml")
        gateway = try ChildProcess(BuiltProgram.sallyport, ["run", "-c", path])
        // Its events are in a file: it is asked until it is ready.
        while try BuiltProgram.run(["healthcheck", "-c", path]).status != .exited(0) {
            try #require(gateway.exitStatus == nil)
        }
    }
}

extension LogRotationRecipeTests {
    /// What `systemctl` is to logrotate here: `kill` for the gateway under test.
    private func writeSystemctl() throws {
        let path = try directory.write(
            """
            #!/bin/sh
            case "$*" in
                '--quiet is-active sallyport.service') ;;
                'kill --kill-whom=main --signal=USR1 sallyport.service')
                    kill -USR1 \(gateway.processID) ;;
                *) exit 1 ;;
            esac

            """, to: "systemctl")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    /// The paths in the lines of every log file, however it was put away.
    private func logged() throws -> [String] {
        let shown = try ChildProcess.run("sh", ["-c", "zcat -f '\(logs)'/access.log*"])
        return try shown.standardOutput.split(separator: "\n").compactMap {
            try JSONValue.parse(String($0))["path"]?.stringValue
        }
    }

    @Test("requests that come while it goes on have their line, each in one of the files")
    func rotation() throws {
        try writeSystemctl()
        let file = try Repository.text(of: "deploy/sallyport.logrotate")
        let configuration = try directory.write(
            try file.moved([
                "/var/log/sallyport": logs, "/run/systemd/system": directory.path,
            ]), to: "logrotate.conf")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: configuration)
        #expect(try Recipe("log-rotation").commands.count == 1)
        let command = try #require(try Recipe("log-rotation").commands.first).moved([
            "/etc/logrotate.d/sallyport":
                "--state '\(directory.path(of: "state"))' '\(configuration)'"
        ])
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let client = try RawClient(port: port)
        var sent: [String] = []
        for round in 0..<4 {
            let rotation = try ChildProcess(
                "sh", ["-ec", command], environment: ["PATH": directory.path + ":" + search])
            while rotation.exitStatus == nil || sent.count < 100 * (round + 1) {
                sent.append("/\(round)/\(sent.count)")
                #expect(try client.exchange("GET", sent[sent.count - 1]).status == 200)
            }
            #expect(
                rotation.exitStatus == .exited(0), "\(rotation.text(on: .standardError))")
        }
        // A clean stop writes what waits.
        gateway.terminate()
        #expect(try gateway.waitForExit() == .exited(0))
        #expect(try logged().sorted() == sent.sorted())
        let files = try FileManager.default.contentsOfDirectory(atPath: logs)
        #expect(files.contains("access.log.1") && files.contains("access.log.2.gz"))
    }
}
