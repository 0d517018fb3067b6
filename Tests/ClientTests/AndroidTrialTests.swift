import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "A client on Android on trial", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct AndroidTrialTests {
    private static let package = "com.example.bank"
    private static let digest = String(repeating: "ab", count: 32)
    private static let folder =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path + "/clients/python"

    private let directory: ScratchDirectory
    private let site: ClientSite
    private let google: String

    init() throws {
        directory = try ScratchDirectory()
        google = directory.path(of: "google.json")
        let root = directory.path(of: "google.pem")
        let made = try ChildProcess.run(
            BuiltProgram.lab,
            ["root", "--platform", "android", "--state", google, "--pem", root])
        try #require(made.status == .exited(0), "\(made.standardError)")
        site = try ClientSite {
            $0.androidRootPaths = [root]
            $0.apps = ["{ android: \(Self.package), signing_digests: [\(Self.digest)] }"]
        }
    }

    /// Runs the client's `program` against a trial. Returns how the trial ended, and its card.
    private func play(
        _ program: [String]
    ) throws -> (status: ChildProcess.ExitStatus, card: JSONValue) {
        let trial = try ChildProcess(
            BuiltProgram.lab,
            [
                "trial", "--platform", "android", "--gateway", "127.0.0.1:\(site.gateway.port)",
                "--seconds", "900", "--json",
            ])
        let line = try trial.waitForLine(on: .standardOutput) { $0.contains("port") }
        let port = try #require(try JSONValue.parse(line)["port"]?.integerValue)
        let client = try ChildProcess.run(
            "python3",
            program + [
                "\(port)", BuiltProgram.lab, directory.path(of: "phone"), google,
                "\(Self.package)=\(Self.digest)",
            ], environment: ["PYTHONDONTWRITEBYTECODE": "1"], within: .seconds(1000))
        #expect(client.status == .exited(0), "\(client.standardError)")
        let status = try trial.waitForExit(within: .seconds(1000))
        let card = try #require(trial.lines(on: .standardOutput).last)
        return (status, try JSONValue.parse(card))
    }

    @Test("the one in Python makes no mistake")
    func python() throws {
        let (status, card) = try play([Self.folder + "/trial.py"])
        #expect(status == .exited(0), "\(card)")
        #expect(card["of"]?.integerValue == 23)
        #expect(card["passed"] == card["of"] && card["mistakes"] == .array([]), "\(card)")
    }

    /// A client that signs as an app does with App Attest: a hash in place of the client data.
    private static let hashing = """
        import hashlib, sys
        sys.path.insert(0, "\(folder)")
        import trial

        class Phone(trial.LabPhone):
            def sign(self, key_id, client_data):
                return super().sign(key_id, hashlib.sha256(client_data).digest())

        trial.LabPhone = Phone
        sys.exit(trial.main(*sys.argv[1:]))
        """

    @Test("one that hashes the client data before it signs is told so")
    func hashing() throws {
        let (status, card) = try play(["-c", Self.hashing])
        #expect(status == .exited(1))
        let mistakes = card["mistakes"]?.arrayValue?.compactMap(\.stringValue)
        #expect(
            mistakes == ["hashed the client data before the signature, which hashes it again"])
    }
}
