import GatewayTesting
import JSON
import Testing

@Suite("Trailers", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct TrailerTests {}

extension TrailerTests {
    private static let answerTrailers = [
        ("grpc-status", "0"), ("x-sum", "42"), ("x-private", "1"), ("date", "today"),
        ("x-app-attest-challenge", "forged"), ("content-type", "text/html"),
    ]

    private func gateway(
        _ server: ScriptedHTTP2Server, route: [String] = []
    ) throws -> GatewayProcess {
        try GatewayProcess(.http2Upstream(port: server.port, route: route))
    }

    @Test("of an answer reach clients, less what a head alone may hold and the route removes")
    func answer() throws {
        let server = try ScriptedHTTP2Server { request, connection in
            try connection.respond(
                to: request, fields: [("trailer", "grpc-status")], trailers: Self.answerTrailers)
        }
        let gateway = try gateway(
            server, route: ["response_headers: { remove: [X-Private, Content-Type] }"])
        let two = try HTTP2Client(port: gateway.port).exchange(1)
        #expect(two.bodyText == "hello\n" && two["trailer"] == "grpc-status")
        #expect(two.trailers.map(\.name) == ["grpc-status", "x-sum", "date"])
        let client = try gateway.connect()
        let one = try client.exchange("GET", "/", fields: [("TE", "trailers")])
        #expect(one["Transfer-Encoding"] == "chunked" && one["Trailer"] == "grpc-status")
        #expect(one.trailers.map(\.name) == ["grpc-status", "x-sum", "date"])
        let plain = try client.exchange("GET", "/", fields: [("TE", "gzip")])
        #expect(plain.bodyText == "hello\n" && plain.trailers.isEmpty && plain["Trailer"] == nil)
    }

    @Test("of an answer without content reach clients in HTTP/2, which can have them")
    func emptyAnswer() throws {
        let server = try ScriptedHTTP2Server { request, connection in
            let head = [(":status", "200"), ("content-length", "0")]
            try connection.send(
                .headers(request.stream, head, endStream: false),
                .headers(request.stream, [("grpc-status", "5")]))
        }
        let gateway = try gateway(server)
        let two = try HTTP2Client(port: gateway.port).exchange(1)
        #expect(two["content-length"] == "0" && two.body.isEmpty)
        #expect(two.trailers == [.init(name: "grpc-status", value: "5")])
        let one = try gateway.connect().exchange("GET", "/", fields: [("TE", "trailers")])
        #expect(one["Content-Length"] == "0" && one.body.isEmpty)
    }

    @Test("that are too large fail their message, and are not cut")
    func tooLarge() throws {
        let large = [("x-details", String(repeating: "a", count: 5000)), ("grpc-status", "0")]
        let server = try ScriptedHTTP2Server { try $1.respond(to: $0, trailers: large) }
        var configuration = GatewayConfiguration.http2Upstream(port: server.port)
        configuration.more = ["limits: { head: 4KiB, target: 2KiB, response_head: 4KiB }"]
        let gateway = try GatewayProcess(configuration)
        let client = try HTTP2Client(port: gateway.port)
        let answer = try client.exchange(1)
        #expect(answer.resetCode != nil && answer.trailers.isEmpty)
        let detail = try gateway.accessLine()["detail"]?.stringValue
        #expect(detail == "malformed: trailers_too_large")
        try client.send(
            .headers(3, HTTP2Client.head("POST"), endStream: false),
            .data(3, [1], endStream: false), .headers(3, large))
        #expect(try client.answer(3).status == 431)
    }

    @Test("of a chunked answer go the same way")
    func chunkedAnswer() throws {
        let upstream = try RecordingUpstream { _ in
            .chunked(["ab"], trailers: "X-Sum: 42\r\nX-Private: 1\r\nKeep-Alive: x\r\n")
        }
        var configuration = GatewayConfiguration.http2(upstreamPort: upstream.port)
        configuration.routes[0].more = ["response_headers: { remove: [x_private] }"]
        let gateway = try GatewayProcess(configuration)
        let two = try HTTP2Client(port: gateway.port).exchange(1)
        #expect(two.trailers == [.init(name: "x-sum", value: "42")])
        let one = try gateway.connect().exchange("GET", "/", fields: [("TE", "trailers")])
        #expect(one.bodyText == "ab" && one.trailers == [.init(name: "X-Sum", value: "42")])
    }

    private static let requestTrailers = [
        ("x-sum", "42"), ("x-attest-result", "verified"), ("X_Attest-Key".lowercased(), "a"),
        ("x-app-attest-assertion", "a"), ("x-forwarded-for", "1.2.3.4"), ("x-private", "1"),
        ("authorization", "b"), ("x_real_ip", "1"), ("x-request-id", "1"), ("te", "trailers"),
    ]

    @Test("of a request reach an upstream in HTTP/2, by the rules of its head")
    func request() throws {
        let server = try ScriptedHTTP2Server()
        let gateway = try gateway(
            server, route: ["request_headers: { remove: [X-Private] }"])
        let two = try HTTP2Client(port: gateway.port)
        let head = HTTP2Client.head("POST", "/two", [("trailer", "x-sum")])
        try two.send(
            .headers(1, head, endStream: false), .data(1, Array("abc".utf8), endStream: false),
            .headers(1, Self.requestTrailers))
        #expect(try two.answer(1).status == 200)
        let one = try gateway.connect()
        let lines = Self.requestTrailers.map { "\($0.0): \($0.1)\r\n" }.joined()
        try one.send(
            "POST /one HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                + "3\r\nabc\r\n0\r\n\(lines)\r\n")
        #expect(try one.receive().status == 200)
        let requests = try server.wait { $0.count { $0.isComplete } == 2 }
        for seen in requests {
            #expect(seen.bodyText == "abc")
            #expect(seen["trailer"]?.lowercased() == "x-sum")
            #expect(seen.trailers == [.init(name: "x-sum", value: "42")], "\(seen.path)")
        }
    }

    @Test("of a verified request come after the body that was verified")
    func verified() throws {
        let server = try ScriptedHTTP2Server()
        var configuration = GatewayConfiguration.http2Upstream(port: server.port)
        configuration.routes = [.init("api", path: "/*", attest: "mode: enforce")]
        let gateway = try GatewayProcess(configuration)
        let client = try SimulatedClient.enrolled(gateway)
        let fields = try client.signature("POST", "/a", body: Array("abc".utf8))
        let two = try HTTP2Client(port: gateway.port)
        let head = HTTP2Client.head("POST", "/a", fields.map { ($0.0.lowercased(), $0.1) })
        try two.send(
            .headers(1, head, endStream: false), .data(1, Array("abc".utf8), endStream: false),
            .headers(1, [("x-t", "1"), ("x-attest-tier", "best")]))
        #expect(try two.answer(1).status == 200)
        let seen = try #require(try server.wait().first)
        #expect(seen["x-attest-result"] == "verified" && seen.bodyText == "abc")
        #expect(seen.trailers == [.init(name: "x-t", value: "1")])
    }

    @Test(
        "that frame or route the message are refused",
        arguments: ["content-length", "host", "content_length"])
    func forbidden(name: String) throws {
        let server = try ScriptedHTTP2Server { request, connection in
            try connection.respond(to: request, trailers: [(name, "1")])
        }
        let gateway = try gateway(server)
        let two = try HTTP2Client(port: gateway.port)
        try two.send(
            .headers(1, HTTP2Client.head("POST"), endStream: false),
            .data(1, [1], endStream: false), .headers(1, [(name, "1")]))
        let answer = try two.answer(1)
        #expect(answer.status == 400 || answer.resetCode == 1)
        // What has been said of the answer cannot be taken back.
        #expect(try two.exchange(3).resetCode != nil)
    }
}
