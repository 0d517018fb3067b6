import AppAttestTesting
import Foundation
import GatewayTesting
import JSON
import Testing

/// `docs/client/vectors.json`: what other implementations test themselves with.
@Suite("The test vectors", .enabled(if: BuiltProgram.isBuilt))
struct PublishedVectorTests {}

extension PublishedVectorTests {
    private static func read() throws -> JSONValue {
        try JSONValue.parse(Repository.text(of: "docs/client/vectors.json"))
    }

    /// Sends all of them in order, and compares what the gateway says to each.
    private func expectVerdicts(_ document: JSONValue) throws {
        let upstream = try RecordingUpstream()
        let attest = "mode: enforce, challenge: off, replay: durable"
        let gateway = try GatewayProcess(
            GatewayConfiguration(
                upstreamPort: upstream.port,
                routes: [
                    .init("header", path: "/header/*", attest: attest),
                    .init("body", path: "/body/*", attest: attest + ", client_data: body"),
                ]))
        let key = try #require(document["key"])
        let line = """
            {"key_id":"\(key["key_id"]?.stringValue ?? "")","counter":0,\
            "public_key":"\(key["public_point"]?.stringValue ?? "")",\
            "app_id":"\(document["app_id"]?.stringValue ?? "")",\
            "environment":"\(document["environment"]?.stringValue ?? "")"}

            """
        let outcome = try BuiltProgram.run(
            ["keys", "import", "-c", gateway.configurationPath], standardInput: Array(line.utf8))
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        var verdicts: Set<String> = []
        for vector in document["vectors"]?.arrayValue ?? [] {
            func text(_ name: String) -> String { vector[name]?.stringValue ?? "" }
            let answer = try gateway.exchange(
                text("method"), text("target"),
                fields: (vector["headers"]?.objectValue ?? [:]).map {
                    ($0.key, $0.value.stringValue ?? "")
                }, body: Array(text("body").utf8))
            let verdict = answer.status == 200 ? "ok" : answer.code ?? "\(answer.status)"
            #expect(verdict == text("expected"), "\(text("name"))")
            verdicts.insert(verdict)
        }
        #expect(verdicts.count == 6)
        let accepted = (document["vectors"]?.arrayValue ?? []).filter {
            $0["expected"]?.stringValue == "ok"
        }
        let targets = accepted.compactMap { $0["target"]?.stringValue }
        #expect(upstream.requests.map(\.message.target) == targets)
    }

    @Test("get the verdicts that the file says")
    func committed() throws { try expectVerdicts(try Self.read()) }

    @Test("can be made anew, and differ in signatures alone")
    func anew() throws {
        let directory = try ScratchDirectory()
        let path = directory.path(of: "vectors.json")
        let outcome = try ChildProcess.run(BuiltProgram.lab, ["vectors", "--out", path])
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let made = try JSONValue.parse(try String(contentsOfFile: path, encoding: .utf8))
        try expectVerdicts(made)
        #expect(try Self.stripped(made) == Self.stripped(try Self.read()))
    }

    /// Without what a signature is in.
    private static func stripped(_ document: JSONValue) throws -> [[String: JSONValue]] {
        try #require(document["vectors"]?.arrayValue).map { vector in
            (vector.objectValue ?? [:]).filter {
                !["assertion", "headers", "signature"].contains($0.key)
            }
        }
    }

    @Test("docs/client/assertion.md shows the first of them, byte by byte")
    func page() throws {
        let page = try Repository.text(of: "docs/client/assertion.md")
        let vector = try #require(try Self.read()["vectors"]?.arrayValue?.first)
        let shown = page.matches(of: #/(?m)^    ([0-9a-f]{2}(?: [0-9a-f]{2})*)(?:   +.*)?$/#)
            .map { String($0.output.1).replacing(" ", with: "") }.joined()
        let assertion = try #require(
            Data(base64Encoded: vector["assertion"]?.stringValue ?? ""))
        #expect(shown == assertion.map { String(format: "%02x", $0) }.joined())
        for name in ["client_data", "client_data_sha256", "nonce"] {
            #expect(
                page.replacing("\n     ", with: "").contains(vector[name]?.stringValue ?? "?"),
                "\(name)")
        }
    }
}
