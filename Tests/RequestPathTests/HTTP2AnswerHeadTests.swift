import GatewayTesting
import JSON
import Testing

@Suite("Large heads of answers in HTTP/2", .enabled(if: BuiltProgram.isBuilt))
struct HTTP2AnswerHeadTests {}

extension HTTP2AnswerHeadTests {
    private static let field = String(repeating: "x", count: 20_000)

    private func gateway(fieldCount: Int) throws -> (GatewayProcess, RecordingUpstream) {
        let upstream = try RecordingUpstream { request in
            guard request.target == "/large" else { return .response() }
            return .response(fields: (0..<fieldCount).map { ("X-\($0)", Self.field) })
        }
        let gateway = try GatewayProcess(
            .http2(upstreamPort: upstream.port, more: ["limits: { response_head: 1MiB }"]))
        return (gateway, upstream)
    }

    @Test("a head above 64 KB reaches the client", arguments: [4, 40])
    func large(fieldCount: Int) throws {
        let (gateway, upstream) = try gateway(fieldCount: fieldCount)
        defer { upstream.stop() }
        let client = try HTTP2Client(port: gateway.port)
        let answer = try client.exchange(1, "GET", "/large")
        #expect(answer.status == 200)
        #expect((0..<fieldCount).allSatisfy { answer["x-\($0)"] == Self.field })
        #expect(answer.bodyText == "hello\n")
    }

    @Test("one that the client has no room for is answered with 502, and logged as that")
    func tooLarge() throws {
        let (gateway, upstream) = try gateway(fieldCount: 1)
        defer { upstream.stop() }
        // SETTINGS_MAX_HEADER_LIST_SIZE
        let client = try HTTP2Client(port: gateway.port, settings: [(6, 4096)])
        let answer = try client.exchange(1, "GET", "/large")
        #expect(answer.status == 502)
        #expect(answer.bodyText.contains("upstream_failed"))
        let line = try gateway.accessLine { $0["path"]?.stringValue == "/large" }
        #expect(line["status"]?.integerValue == 502)
        #expect(line["detail"]?.stringValue == "head_too_large_for_client")
        #expect(try client.exchange(3, "GET", "/small").status == 200)
    }
}
