import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

/// `docs/recipes/migrate-keys.md`.
@Suite("The recipe for keys of another verifier", .enabled(if: BuiltProgram.isBuilt))
struct MigrationRecipeTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream
    private let commands: [String]

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
        let script = try Recipe.file("migrate-keys/convert.py")
        try directory.write(script, to: "convert.py")
        commands = try Recipe("migrate-keys").commands
    }
}

extension MigrationRecipeTests {
    private func convert(_ table: String) throws -> ChildProcess.Outcome {
        try directory.write(table, to: "keys.csv")
        return try Shell(directory: directory, configurationPath: "").run(commands[0])
    }

    private func configuration() -> GatewayConfiguration {
        GatewayConfiguration(
            upstreamPort: upstream.port,
            routes: [
                .init("api", path: "/api/*", attest: "mode: enforce"),
                .init(
                    "durable", path: "/durable/*",
                    attest: "mode: enforce, challenge: off, replay: durable"),
            ])
    }

    /// The same key as a base64 SubjectPublicKeyInfo, which OpenSSL makes of it.
    private func publicInfo(_ device: SimulatedDevice) throws -> String {
        let key = try #require(try device.state()["key"]?.stringValue)
        let made = try ChildProcess.run(
            "openssl", ["pkey", "-pubout"], standardInput: Array(key.utf8))
        return made.standardOutput
    }

    @Test("devices go on without attesting again, and what was accepted before is refused")
    func migration() throws {
        let gateway = try GatewayProcess(configuration(), directory: directory)
        let devices = try (0..<3).map { _ in
            try SimulatedDevice(appID: GatewayConfiguration.appID)
        }
        // What the old verifier had accepted from the first device, and somebody has recorded.
        let old = try App("http://127.0.0.1:\(gateway.port)", device: devices[0])
        let recorded = try devices[0].sign(method: "GET", path: "/durable/x", challenge: nil)
        let copy = try SimulatedDevice(state: try devices[0].state())
        devices[0].counter = 7
        devices[2].counter = 2
        let pem = try publicInfo(devices[1])
        let hex = Hex.encode(devices[2].publicKey.x963)
        let table = """
            key_id,public_key,counter
            \(devices[0].keyID.base64),\(Base64.encode(devices[0].publicKey.x963)),5
            ,"\(pem)",0
            ,\(hex),2
            \(devices[0].keyID.base64),\(Base64.encode(devices[0].publicKey.x963)),7

            """
        let converted = try convert(table)
        #expect(converted.status == .exited(0), "\(converted.standardError)")
        let shell = Shell(directory: directory, configurationPath: gateway.configurationPath)
        let trial = try shell.run(
            commands[1].replacing("/tmp/trial", with: directory.path(of: "trial")))
        #expect(trial.status == .exited(0), "\(trial.standardError)")
        let summary = "imported 3, unchanged 0, made stricter 0, conflicts 0, faulty lines 0\n"
        #expect(trial.standardOutput.hasSuffix(summary))
        #expect(try old.request("GET", "/api/x").outcome == "401 key_unknown")

        for expected in [
            summary, summary.replacing("imported 3, unchanged 0", with: "imported 0, unchanged 3"),
        ] {
            let imported = try shell.run(commands[2])
            #expect(imported.status == .exited(0) && imported.standardOutput == expected)
        }
        // A gateway looks at the registry four times a second, and no event tells.
        let limit = ChildProcess.deadline
        var sent = ""
        repeat {
            sent = try old.exchange(
                "GET", "/durable/x", fields: recorded.headers.map { ($0.name, $0.value) }
            ).outcome
        } while sent == "401 key_unknown" && Date() < limit
        #expect(sent == "401 assertion_replayed")
        let stale = try App(old.base, device: copy).request("GET", "/api/x")
        #expect(stale.outcome == "401 assertion_replayed")
        for device in devices {
            let answer = try App(old.base, device: device).request("GET", "/api/x")
            #expect(answer.outcome == "200")
        }
        #expect(commands.count == 3)
    }

    @Test("rows that cannot be read are named by their line, and the others are written")
    func faults() throws {
        let device = try SimulatedDevice(appID: GatewayConfiguration.appID)
        let key = Base64.encode(device.publicKey.x963)
        for (row, words) in [
            (",\(key),", "counter is not between 0 and 4294967295"),
            (",\(key),-1", "counter is not between 0 and 4294967295"),
            (",\(key),4294967296", "counter is not between 0 and 4294967295"),
            (",QUJD,1", "public_key is no uncompressed P-256 point"),
            (",not base64!,1", "line 3: "),
            ("QUJD,\(key),1", "key_id is not the SHA-256 of public_key"),
            (",\(key)", "another number of columns than in the first line"),
            (",\(key),1,2", "another number of columns than in the first line"),
        ] {
            let outcome = try convert("key_id,public_key,counter\n,\(key),1\n\(row)\n")
            #expect(outcome.status == .exited(1), "\(row)")
            #expect(outcome.standardError.hasPrefix("line 3: "), "\(outcome.standardError)")
            #expect(outcome.standardError.contains(words), "\(outcome.standardError)")
            let lines = try String(
                contentsOfFile: directory.path(of: "keys.jsonl"), encoding: .utf8)
            #expect(lines.split(separator: "\n").count == 1)
        }
        for (head, words) in [
            ("key_id,counter", "no column public_key"), ("public_key,key_id", "no column counter"),
            ("public_key,counter,secret", "unknown column secret"), ("", "no column "),
        ] {
            let outcome = try convert(head + "\n")
            #expect(outcome.status == .exited(1))
            #expect(outcome.standardError.contains(words), "\(outcome.standardError)")
        }
        let marked = try convert("\u{FEFF}public_key,counter\r\n\(key),1\r\n")
        #expect(marked.status == .exited(0), "\(marked.standardError)")
        let long = try convert("public_key,counter\n\(String(repeating: "A", count: 200_000)),1\n")
        #expect(long.status == .exited(1))
        #expect(long.standardError.hasSuffix("nothing was written\n"), "\(long.standardError)")
        let other = try convert(
            "public_key,counter,app_id\n\(key),1,A.b\n\(key),2,A.c\n")
        #expect(other.status == .exited(1))
        #expect(other.standardError.contains("the key is there already, with other values"))
    }
}
