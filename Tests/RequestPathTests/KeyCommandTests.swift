import AppAttestTesting
import Attestation
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("sallyport keys", .enabled(if: BuiltProgram.isBuilt))
struct KeyCommandTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess
    private let client: SimulatedClient

    init() throws {
        upstream = try RecordingUpstream()
        gateway = try GatewayProcess(.enforcing(upstreamPort: upstream.port))
        client = try SimulatedClient.enrolled(gateway)
    }
}

extension KeyCommandTests {
    private func keys(
        _ action: String, _ words: [String] = [], input: String = ""
    ) throws -> ChildProcess.Outcome {
        try BuiltProgram.run(
            ["keys", action, "-c", gateway.configurationPath] + words,
            standardInput: Array(input.utf8))
    }

    private var keyID: String { client.device.keyID.base64 }

    /// The gateway notices another process's change within a moment; a request tells.
    private func waitForOutcome(_ outcome: String) throws {
        let limit = ChildProcess.deadline
        while Date() < limit {
            if try client.request("GET", "/api/x").outcome == outcome { return }
        }
        Issue.record("the gateway never answered \(outcome)")
    }

    @Test("import names the file that it cannot read")
    func importedDirectory() throws {
        let outcome = try keys("import", ["/tmp"])
        #expect(outcome.status == .exited(1))
        #expect(outcome.standardError.contains("/tmp: is a directory"), "\(outcome.standardError)")
    }

    @Test("revoke reaches a running gateway")
    func revoke() throws {
        #expect(try client.request("GET", "/api/x").status == 200)
        #expect(try keys("revoke", [keyID]).status == .exited(0))
        try waitForOutcome("403 key_revoked")
        #expect(try client.enrol().outcome == "403 key_revoked")
        #expect(try keys("show", [keyID]).standardOutput.contains("revoked"))
    }

    @Test("erase leaves nothing to use, and no way back in")
    func erase() throws {
        #expect(try keys("erase", [keyID]).status == .exited(0))
        let limit = ChildProcess.deadline
        var answer = try client.request("GET", "/api/x")
        while answer.status == 200, Date() < limit { answer = try client.request("GET", "/api/x") }
        #expect([401, 403].contains(answer.status))
        #expect(try client.enrol().status == 403)
        #expect(!(try keys("export").standardOutput.contains(client.device.publicKey.x963.base64)))
    }

    @Test("a pseudonym of the log leads to its key, and a key to its pseudonym")
    func pseudonyms() throws {
        #expect(try client.request("GET", "/api/x").status == 200)
        let other = try SimulatedClient.enrolled(gateway)
        let told = try keys("pseudonym", [keyID]).standardOutput
        let words = told.split(whereSeparator: \.isWhitespace)
        let name = String(try #require(words.last))
        #expect(words.first == "\(keyID):" && name.utf8.count == 16)
        let line = try gateway.accessLine { $0["key"]?.stringValue == name }
        #expect(line["reason"]?.stringValue == "ok")
        let found = try keys("list", ["--pseudonym", name])
        #expect(found.status == .exited(0))
        #expect(found.standardOutput.contains(keyID))
        #expect(!found.standardOutput.contains(other.device.keyID.base64))
        #expect(try keys("list", ["--pseudonym", "0123456789abcdef"]).status == .exited(1))
        #expect(try keys("list", ["--pseudonym", "nonsense"]).status == .exited(2))
        #expect(try keys("pseudonym").status == .exited(2))
    }

    @Test("a key has the highest counter that was accepted, while the gateway runs and afterwards")
    func counters() throws {
        for _ in 0..<3 { #expect(try client.request("GET", "/api/x").status == 200) }
        func expectCounters(_ place: Comment) throws {
            for words in [["show", keyID], ["list"], ["export"]] {
                let outcome = try keys(words[0], Array(words.dropFirst()))
                let line = outcome.standardOutput.trimmingCharacters(in: .newlines)
                let counter = try JSONValue.parse(line)["counter"]?.integerValue
                #expect(counter == Int64(client.device.counter), place)
            }
        }
        try expectCounters("beside the gateway")
        try gateway.terminate()
        try expectCounters("after its clean stop")
    }

    @Test("what is exported can be imported elsewhere, and works there")
    func exportImport() throws {
        #expect(try client.request("GET", "/api/x").status == 200)
        let exported = try keys("export").standardOutput
        let line = try JSONValue.parse(exported.trimmingCharacters(in: .newlines))
        #expect(line["key_id"]?.stringValue == keyID)
        #expect(line["app_id"]?.stringValue == GatewayConfiguration.appID)
        #expect(line["environment"]?.stringValue == "production")
        #expect(line["public_key"]?.stringValue != nil)
        let elsewhere = try GatewayProcess(.enforcing(upstreamPort: upstream.port))
        let outcome = try BuiltProgram.run(
            ["keys", "import", "-c", elsewhere.configurationPath],
            standardInput: Array(exported.utf8))
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let moved = try SimulatedClient(elsewhere, device: client.device)
        #expect(try moved.request("GET", "/api/x").status == 200)
    }

    @Test("a bad line of an import is named, and nothing crashes")
    func badImport() throws {
        for line in [
            "garbage", "{}", #"{"key_id":"AAAA"}"#, "[]",
            #"{"key_id":"\#(keyID)","public_key":"AAAA","app_id":"x","environment":"production"}"#,
        ] {
            let outcome = try keys("import", input: line + "\n")
            #expect(outcome.status == .exited(1), "\(line)")
            #expect(outcome.standardError.contains("1"), "\(line): \(outcome.standardError)")
        }
        #expect(try client.request("GET", "/api/x").status == 200)
    }

    @Test("wrong usage exits with 2, an unknown key with 1")
    func usage() throws {
        #expect(try keys("show").status == .exited(2))
        #expect(try keys("nonsense").status == .exited(2))
        #expect(try keys("show", ["not-a-key"]).status == .exited(2))
        let unknown = String(repeating: "A", count: 43)
        #expect(try keys("show", [unknown]).status == .exited(1))
        #expect(try BuiltProgram.run([]).status == .exited(2))
        #expect(try BuiltProgram.run(["run"]).status == .exited(2))
    }
}

extension [UInt8] {
    fileprivate var base64: String { Data(self).base64EncodedString() }
}
