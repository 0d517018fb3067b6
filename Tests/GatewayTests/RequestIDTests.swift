import Bytes
import EventLoop
import GatewayTesting
import Settings
import Testing

@testable import Gateway

@Suite("Request ids")
struct RequestIDTests {}

extension RequestIDTests {
    private static func isOurs(_ id: String?) -> Bool {
        guard let id else { return false }
        return id.utf8.count == 32 && id.utf8.allSatisfy { Hex.value($0) != nil }
    }

    @Test("of a trusted peer do not outlive a head that is refused or breaks off")
    func refusedHeads() throws {
        let gateway = try GatewayUnderTest()
        let start = "GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: from-the-proxy\r\n"
        let refused = try RawClient(port: gateway.trustedPort)
        try refused.send(start + "bad header\r\n\r\n")
        let answer = try refused.receive()
        #expect(answer.status == 400)
        #expect(Self.isOurs(answer["X-Request-Id"]))
        #expect(answer.member("request_id") == answer["X-Request-Id"])
        refused.socket.close()
        let broken = try RawClient(port: gateway.trustedPort)
        try broken.send(start)
        broken.socket.shutdownSending()
        #expect(try broken.receiveToEnd().isEmpty)
        #expect(try gateway.logLines().count == 2)
    }

    /// The ids that the answer, its problem document and the upstream's request have.
    private func seen(
        _ fields: String, _ gateway: GatewayUnderTest, port: UInt16
    ) throws -> [String] {
        let client = try RawClient(port: port)
        try client.send("GET /x HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
        #expect(try client.receive().status == 200)
        try client.send("GET /attested/x HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
        let refusal = try client.receive()
        #expect(refusal.status == 401)
        #expect(refusal.values(of: "X-Request-Id").count == 1)
        let upstreams = try #require(gateway.upstream.requests.last).message
            .values(of: "X-Request-Id")
        return [refusal["X-Request-Id"], refusal.member("request_id")].compactMap { $0 }
            + upstreams
    }

    @Test("of a trusted peer are kept; those of others are replaced")
    func kept() throws {
        let field = "X-Request-Id: 4bf92f35-77b3:a/b+c=@~\r\n"
        let gateway = try GatewayUnderTest()
        let kept = try seen(field, gateway, port: gateway.trustedPort)
        #expect(kept == Array(repeating: "4bf92f35-77b3:a/b+c=@~", count: 3))
        let replaced = try seen(field, gateway, port: gateway.port)
        #expect(replaced.count == 3)
        #expect(replaced.allSatisfy { Self.isOurs($0) })
        let lines = try gateway.logLines()
        for id in [kept[0], replaced[0]] {
            #expect(lines.contains { $0.contains("\"request_id\":\"\(id)\"") })
        }
    }

    @Test(
        "that could not stand in a log or header as they are, are replaced even for a trusted peer")
    func replaced() throws {
        let gateway = try GatewayUnderTest()
        var logged: [String] = []
        for field in [
            "X-Request-Id:\r\n", "X-Request-Id: a b\r\n", "X-Request-Id: a\"b\r\n",
            "X-Request-Id: a\\b\r\n", "X-Request-Id: \u{e9}\r\n",
            "X-Request-Id: \(String(repeating: "a", count: 129))\r\n",
            "X-Request-Id: a\r\nX-Request-ID: b\r\n", "X_Request_Id: a\r\n",
        ] {
            let ids = try seen(field, gateway, port: gateway.trustedPort)
            #expect(ids.count == 3)
            #expect(ids.allSatisfy { Self.isOurs($0) }, "\(field) \(ids)")
            logged += ids.prefix(1)
        }
        let lines = try gateway.logLines()
        for id in logged {
            #expect(lines.contains { $0.contains("\"request_id\":\"\(id)\"") })
        }
    }
}
