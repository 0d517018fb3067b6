import Foundation
import GatewayTesting
import Testing

@Suite("What stops a start", .enabled(if: BuiltProgram.isBuilt))
struct StartRequirementTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
    }

    private func outcomes(
        _ change: (inout GatewayConfiguration) throws -> Void
    ) throws -> (check: ChildProcess.Outcome, doctor: ChildProcess.Outcome) {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        try change(&configuration)
        let path = try directory.write(
            configuration.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "start.yaml")
        let check = try BuiltProgram.run(["check", "-c", path])
        return (check, try BuiltProgram.run(["doctor", "-c", path]))
    }

    @Test("check and doctor find a challenge key file that is missing or malformed")
    func challengeKeys() throws {
        let path = directory.path(of: "keys")
        for text in [nil, "short"] {
            if let text { try directory.write(text, to: "keys") }
            let (check, doctor) = try outcomes {
                $0.more = ["secrets: { challenge_key_file: \(path) }"]
            }
            #expect(check.status == .exited(78))
            #expect(check.standardError.contains("challenge_key_file: \(path)"))
            #expect(doctor.status == .exited(1))
        }
        // One that the gateway has made itself.
        try directory.write("short", to: "registry.db.challenge-key")
        #expect(try outcomes { _ in }.check.status == .exited(78))
    }

    @Test("check and doctor find places that cannot be written")
    func places() throws {
        let none = directory.path(of: "none")
        let (check, doctor) = try outcomes {
            $0.registryPath = none + "/registry.db"
            $0.more = [
                "log: { access: \(none)/access.log }",
                "limits: { temporary_directory: \(none) }",
            ]
        }
        for setting in ["registry", "log.access", "limits.temporary_directory"] {
            #expect(
                check.standardError.contains("warning: \(setting): no file can be made"),
                "\(check.standardError)")
            #expect(
                doctor.standardOutput.contains("FAIL  \(setting): no file can be made"),
                "\(doctor.standardOutput)")
        }
        #expect(check.status == .exited(0))
        #expect(doctor.status == .exited(1))
        #expect(!FileManager.default.fileExists(atPath: none))
    }

    @Test("check and doctor warn of a password in a configuration that others may read")
    func clearText() throws {
        let path = directory.path(of: "start.yaml")
        func warnings(_ mode: Int) throws -> Bool {
            try directory.write("", to: "start.yaml")
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            let (check, doctor) = try outcomes {
                $0.counters = "{ redis: \"redis://gateway:opensesame@127.0.0.1:1/0\" }"
            }
            let found = check.standardError.contains("holds a password in clear text")
            #expect(doctor.standardOutput.contains("holds a password in clear text") == found)
            #expect(!check.standardError.contains("opensesame"))
            return found
        }
        #expect(try warnings(0o644))
        #expect(try !warnings(0o640))
    }
}
