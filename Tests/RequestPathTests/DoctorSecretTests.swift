import AppAttestTesting
import Foundation
import GatewayTesting
import Testing

@Suite(
    "The doctor and secrets", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct DoctorSecretTests {
    private let upstream: RecordingUpstream
    private let apple: AppleServer
    private let directory: ScratchDirectory

    init() throws {
        upstream = try RecordingUpstream()
        apple = try AppleServer(keys: ["ABC123DEFG", "BCD234EFGH"])
        directory = try ScratchDirectory()
    }
}

extension DoctorSecretTests {
    /// The lines of `doctor`, and whether it failed.
    private func examine(
        _ sections: [String], registryPath: String? = nil
    ) throws -> (lines: [String], hasFailed: Bool) {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.apps = [
            "{ id: \(GatewayConfiguration.appID), environments: [production] }"
        ]
        configuration.more = sections
        configuration.registryPath = registryPath
        let path = try directory.write(
            configuration.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "doctor.yaml")
        let outcome = try BuiltProgram.run(["doctor", "-c", path])
        let lines = outcome.standardOutput.split(separator: "\n").map(String.init)
        return (lines, outcome.status != .exited(0))
    }

    @Test("each key is shown to each service that it will be used with, and nothing comes of it")
    func keys() throws {
        let sections = [try apple.settings, "device_check: {}"]
        let good = try examine(sections)
        #expect(!good.hasFailed, "\(good.lines)")
        for key in ["ABC123DEFG", "BCD234EFGH"] {
            for place in ["receipts (production)", "DeviceCheck (production)"] {
                #expect(good.lines.contains("ok    apple key \(key), \(place): Apple accepts it"))
            }
        }
        let asked = try apple.requests
        #expect(asked.count == 4 && asked.allSatisfy { $0.hasSuffix(" 400") }, "\(asked)")

        try apple.revoke("BCD234EFGH")
        let revoked = try examine(sections)
        #expect(revoked.hasFailed)
        #expect(
            revoked.lines.filter { $0.hasPrefix("FAIL") } == [
                "FAIL  apple key BCD234EFGH, receipts (production): Apple does not accept our "
                    + "key (401)",
                "FAIL  apple key BCD234EFGH, DeviceCheck (production): Apple does not accept our "
                    + "key (401)",
            ], "\(revoked.lines)")
    }

    @Test("a service that fails for now is a warning, one that is out of reach a failure")
    func outage() throws {
        let sections = [try apple.settings]
        try apple.fail(status: 503, count: 0)
        let failing = try examine(sections)
        #expect(!failing.hasFailed)
        #expect(
            failing.lines.contains(
                "warn  apple key ABC123DEFG, receipts (production): Apple's server failed (503)"))
        try apple.clearFaults()
        try apple.fail(conduct: .close, count: 0)
        let gone = try examine(sections)
        #expect(gone.hasFailed)
        #expect(
            gone.lines.contains {
                $0.hasPrefix("FAIL  apple key ABC123DEFG, receipts (production): ")
            }, "\(gone.lines)")
    }

    @Test("a file of secrets that all users of the machine may read is a warning")
    func openFiles() throws {
        let path = try directory.write(
            Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString() + "\n",
            to: "challenge-keys")
        func warning(_ mode: Int) throws -> String? {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            return try examine(["secrets: { challenge_key_file: \(path) }"]).lines.first {
                $0.hasPrefix("warn  secrets.challenge_key_file: ")
            }
        }
        #expect(
            try warning(0o644)
                == "warn  secrets.challenge_key_file: \(path) is open to all users: chmod o-rwx "
                + path)
        #expect(try warning(0o602) != nil)
        #expect(try warning(0o640) == nil)
        #expect(try warning(0o600) == nil)
    }

    @Test("a registry that all users may change, or replace, is a warning of doctor and check")
    func openRegistry() throws {
        let folder = directory.path(of: "registry")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/r.db"
        func set(_ mode: Int, _ path: String) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        func warnings() throws -> [String] {
            try examine([], registryPath: path).lines.filter {
                $0.hasPrefix("warn  registry: ")
            }
        }
        let configuration = directory.path(of: "doctor.yaml")
        #expect(try warnings() == [])
        #expect(
            try BuiltProgram.run(["keys", "import", "-c", configuration, "/dev/null"]).status
                == .exited(0))
        try set(0o666, path)
        try set(0o777, folder)
        let text = "can be changed by all users, who could add keys: chmod o-w"
        #expect(
            try warnings() == [folder, path].map { "warn  registry: \($0) \(text) \($0)" })
        let check = try BuiltProgram.run(["check", "-c", configuration])
        #expect(check.status == .exited(0))
        #expect(check.standardError.contains("\(path) \(text)"))
    }
}
