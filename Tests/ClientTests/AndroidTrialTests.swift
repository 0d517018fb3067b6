import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "A client on Android on trial", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct AndroidTrialTests {
    private static let folder =
        Repository.path(of: "clients/python")

    private let android: AndroidSite

    init() throws { android = try AndroidSite() }
}

extension AndroidTrialTests {
    /// Plays a trial with the client that `run` starts, given the trial's port and what a phone
    /// needs. Returns how the trial ended, and its card.
    private func play(
        _ run: (_ port: Int64, _ phone: [String]) throws -> ChildProcess.Outcome
    ) throws -> (status: ChildProcess.ExitStatus, card: JSONValue) {
        let trial = try ChildProcess(
            BuiltProgram.lab,
            [
                "trial", "--platform", "android", "--gateway",
                "127.0.0.1:\(android.site.gateway.port)", "--seconds", "900", "--json",
            ])
        let line = try trial.waitForLine(on: .standardOutput) { $0.contains("port") }
        let port = try #require(try JSONValue.parse(line)["port"]?.integerValue)
        let client = try run(port, android.phone)
        #expect(client.status == .exited(0), "\(client.standardError)")
        let status = try trial.waitForExit(within: .seconds(1000))
        let card = try #require(trial.lines(on: .standardOutput).last)
        return (status, try JSONValue.parse(card))
    }

    private func playInPython(
        _ program: [String]
    ) throws -> (status: ChildProcess.ExitStatus, card: JSONValue) {
        try play { port, phone in
            try ChildProcess.run(
                PythonInterpreter.debian.path, program + ["\(port)"] + phone,
                environment: ["PYTHONDONTWRITEBYTECODE": "1"], within: .seconds(1000))
        }
    }

    private func expectFullMarks(_ status: ChildProcess.ExitStatus, _ card: JSONValue) {
        #expect(status == .exited(0), "\(card)")
        #expect(card["of"]?.integerValue == 25)
        #expect(card["passed"] == card["of"] && card["mistakes"] == .array([]), "\(card)")
    }

    @Test("the one in Python makes no mistake")
    func python() throws {
        let (status, card) = try playInPython([Self.folder + "/trial.py"])
        expectFullMarks(status, card)
    }

    @Test(
        "the one in Java makes no mistake",
        .enabled(if: JavaClient.isInstalled, "Java is not installed: scripts/install.sh test"))
    func java() throws {
        let java = try JavaClient.shared.get()
        let (status, card) = try play { port, phone in
            try java.run("LabTrial", ["http://127.0.0.1:\(port)"] + phone)
        }
        expectFullMarks(status, card)
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
        let (status, card) = try playInPython(["-c", Self.hashing])
        #expect(status == .exited(1))
        let mistakes = card["mistakes"]?.arrayValue?.compactMap(\.stringValue)
        #expect(
            mistakes == ["hashed the client data before the signature, which hashes it again"])
    }
}
