import Foundation
import GatewayTesting
import JSON
import Testing

extension GatewayConfiguration {
    /// Everything goes, in either protocol, to an HTTP/2 upstream on `port`.
    static func http2Upstream(
        port: UInt16, more: String = "", route: [String] = []
    ) -> GatewayConfiguration {
        var configuration = GatewayConfiguration(
            upstreamPort: port, routes: [.init("all", path: "/*", more: route)])
        configuration.upstreams["api"] = "servers: [\"127.0.0.1:\(port)\"], protocol: h2\(more)"
        configuration.speakHTTP2()
        // Each worker has connections of its own, which tests count.
        configuration.workers = 1
        return configuration
    }
}

@Suite("An upstream in HTTP/2", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct HTTP2UpstreamTests {}

extension HTTP2UpstreamTests {
    @Test("gets the request's fields, and one head and body")
    func request() throws {
        let server = try ScriptedHTTP2Server()
        let gateway = try GatewayProcess(.http2Upstream(port: server.port))
        let client = try gateway.connect()
        let answer = try client.exchange(
            "PUT", "/a%41?q=1",
            fields: [
                ("X-B", "2"), ("Connection", "x-hop"), ("X-Hop", "1"), ("TE", "trailers, gzip"),
                ("X-Attest-Result", "verified"), ("Keep-Alive", "3"),
            ], body: Array("body".utf8))
        #expect(answer.status == 200 && answer.bodyText == "hello\n")
        let seen = try #require(try server.wait().first)
        #expect(seen.fields.prefix(4).map(\.name) == [":method", ":scheme", ":path", ":authority"])
        #expect(seen.fields.prefix(3).map(\.value) == ["PUT", "http", "/a%41?q=1"])
        #expect(seen["content-length"] == "4" && seen.bodyText == "body")
        #expect(seen["x-b"] == "2" && seen["te"] == "trailers")
        #expect(seen["x-forwarded-for"] == "127.0.0.1")
        for name in ["connection", "x-hop", "x-attest-result", "keep-alive", "host"] {
            #expect(seen[name] == nil, "\(name)")
        }
        #expect(try client.exchange("GET", "/").status == 200)
        let second = try #require(try server.wait { $0.count == 2 }.last)
        #expect(second["te"] == nil && second["content-length"] == nil)
        #expect(server.connectionCount == 1)
        #expect(try gateway.accessLine()["status"]?.integerValue == 200)
    }

    @Test("hears that the client has left, though it sends nothing", arguments: [true, false])
    func clientLeft(isHTTP2: Bool) throws {
        let server = try ScriptedHTTP2Server { request, connection in
            guard request.path == "/events" else { return try connection.respond(to: request) }
            let head = [(":status", "200"), ("content-type", "text/event-stream")]
            try connection.send(.headers(request.stream, head, endStream: false))
        }
        let gateway = try GatewayProcess(
            .http2Upstream(port: server.port, route: ["on_client_close: cancel"]))
        if isHTTP2 {
            let client = try HTTP2Client(port: gateway.port)
            try client.request(1, "GET", "/events")
            try server.wait()
            try client.send(.reset(1))
            try server.wait { $0.first?.resetCode != nil }
        } else {
            let client = try gateway.connect()
            try client.send("GET", "/events")
            try server.wait()
            // Bytes that nobody reads would make a reset of the close.
            #expect(try !client.socket.receive().isEmpty)
            client.socket.close()
        }
        let seen = try server.wait { $0.first?.resetCode != nil }
        // CANCEL: RFC 9113 section 7.
        #expect(seen.first?.resetCode == 8)
        // The connection goes on, and nothing counts against the server.
        #expect(try gateway.exchange("GET", "/next").status == 200)
        #expect(server.connectionCount == 1)
        let labels = #"upstream="api",server="127.0.0.1:\#(server.port)""#
        let failures = try gateway.metric("sallyport_upstream_failures_total{\(labels)}")
        #expect(failures ?? 0 == 0)
    }

    @Test("takes one more stream where it has a connection, if there may be no more of these")
    func streamsOfTheOne() throws {
        let servers = try (0..<2).map { _ in
            try ScriptedHTTP2Server { request, connection in
                if request.path != "/silence" { try connection.respond(to: request) }
            }
        }
        var configuration = GatewayConfiguration.http2Upstream(port: 0)
        let addresses = servers.map { "\"127.0.0.1:\($0.port)\"" }.joined(separator: ", ")
        configuration.upstreams["api"] =
            "servers: [\(addresses)], protocol: h2, balance: least_connections, "
            + "connections_max: 1"
        let gateway = try GatewayProcess(configuration)
        let client = try HTTP2Client(port: gateway.port)
        try client.request(1, "GET", "/silence")
        // The other server has fewer requests, and gets no connection.
        for stream in [3, 5] as [UInt32] { #expect(try client.exchange(stream).status == 200) }
        #expect(servers.map(\.connectionCount).sorted() == [0, 1])
    }

    @Test("serves many requests on one connection, each with its own answer")
    func shared() throws {
        let server = try ScriptedHTTP2Server { request, connection in
            try connection.respond(to: request, body: request.path)
        }
        let gateway = try GatewayProcess(.http2Upstream(port: server.port))
        let client = try HTTP2Client(port: gateway.port)
        for stream in stride(from: UInt32(1), to: 61, by: 2) {
            try client.request(stream, "GET", "/\(stream)")
        }
        for stream in stride(from: UInt32(1), to: 61, by: 2) {
            #expect(try client.answer(stream).bodyText == "/\(stream)")
        }
        #expect(server.connectionCount == 1)
    }

    @Test("gives interim answers, empty ones, and answers to HEAD")
    func answers() throws {
        let server = try ScriptedHTTP2Server { request, connection in
            let id = request.stream
            switch request.path {
            case "/early":
                try connection.send(
                    .headers(id, [(":status", "100")], endStream: false),
                    .headers(id, [(":status", "103"), ("link", "</a>")], endStream: false))
                try connection.respond(to: request)
            case "/none": try connection.send(.headers(id, [(":status", "204")]))
            case "/empty": try connection.send(.headers(id, [(":status", "200"), ("x-e", "1")]))
            case "/length":
                try connection.respond(to: request, fields: [("content-length", "6")])
            default:
                try connection.send(.headers(id, [(":status", "200"), ("content-length", "9")]))
            }
        }
        let gateway = try GatewayProcess(.http2Upstream(port: server.port))
        let two = try HTTP2Client(port: gateway.port)
        let early = try two.exchange(1, "GET", "/early")
        #expect(early.interim == [103] && early.bodyText == "hello\n")
        #expect(try two.exchange(3, "GET", "/none").status == 204)
        let empty = try two.exchange(5, "GET", "/empty")
        #expect(empty["x-e"] == "1" && empty.isComplete && empty["content-length"] == nil)
        #expect(try two.exchange(7, "HEAD", "/")["content-length"] == "9")
        let one = try gateway.connect()
        #expect(try one.exchange("GET", "/empty")["Content-Length"] == "0")
        #expect(try one.exchange("GET", "/length")["Content-Length"] == "6")
        #expect(try one.exchange("GET", "/none").status == 204)
    }

    @Test(
        "may end an answer without content later: the client gets it then",
        arguments: [("GET", 204), ("GET", 304), ("HEAD", 200)])
    func lateEnd(method: String, status: Int) throws {
        let server = try ScriptedHTTP2Server { request, connection in
            guard request.path != "/late" else {
                let head = [(":status", "\(status)")]
                return try connection.send(.headers(request.stream, head, endStream: false))
            }
            if request.path == "/end" { try connection.send(.data(1, [])) }
            try connection.respond(to: request)
        }
        let gateway = try GatewayProcess(.http2Upstream(port: server.port))
        let client = try HTTP2Client(port: gateway.port)
        try client.request(1, method, "/late")
        try server.wait()
        // Its answer comes behind the head.
        #expect(try client.exchange(3, "GET", "/next").status == 200)
        #expect(try client.exchange(5, "GET", "/end").status == 200)
        #expect(try client.answer(1).status == status)
        let line = try gateway.accessLine { $0["path"]?.stringValue == "/late" }
        #expect(line["reason"]?.stringValue == "ok")
        #expect(try server.wait().first?.resetCode == nil)
    }

    @Test(
        "a malformed answer is the upstream's fault, and harms no other request",
        arguments: [
            [("x-a", "1")], [(":status", "20")], [(":status", "101")],
            [(":status", "200"), (":status", "200")], [(":status", "200"), ("X-Upper", "1")],
            [(":status", "200"), ("connection", "close")], [("x-a", "1"), (":status", "200")],
            [(":status", "200"), ("transfer-encoding", "chunked")],
            [(":status", "200"), (":path", "/")], [(":status", "200"), ("x-a", "1\r\nx-b: 2")],
            [(":status", "200"), ("content-length", "5")],
            [(":status", "200"), ("content-length", "0"), ("content-length", "0")],
            [(":status", "204"), ("content-length", "7")], [(":status", "100")],
            [(":status", "200"), ("x-long", String(repeating: "a", count: 15_000))],
        ] as [[(String, String)]])
    func malformed(fields: [(String, String)]) throws {
        let server = try ScriptedHTTP2Server { request, connection in
            guard request.path == "/bad" else { return try connection.respond(to: request) }
            try connection.send(.headers(request.stream, fields))
        }
        var configuration = GatewayConfiguration.http2Upstream(port: server.port)
        configuration.more = ["limits: { response_head: 8KiB }"]
        let gateway = try GatewayProcess(configuration)
        let client = try HTTP2Client(port: gateway.port)
        let bad = try client.exchange(1, "GET", "/bad")
        #expect(bad.status == 502)
        #expect(try client.exchange(3, "GET", "/good").status == 200)
        let detail = try gateway.accessLine()["detail"]?.stringValue
        #expect(detail?.hasPrefix("malformed: ") == true, "\(detail ?? "")")
    }

    @Test("that speaks HTTP/1.1 alone gets no request")
    func notHTTP2() throws {
        let upstream = try RecordingUpstream { _ in .raw("HTTP/1.1 400 Bad\r\n\r\n", then: .close) }
        let gateway = try GatewayProcess(.http2Upstream(port: upstream.port))
        #expect(try gateway.exchange("POST", "/", body: [1]).status == 502)
        let detail = try gateway.accessLine()["detail"]?.stringValue
        #expect(detail?.hasPrefix("connect: ") == true, "\(detail ?? "")")
        #expect(upstream.requests.allSatisfy { $0.method == "PRI" })
    }

    @Test("is left when it has served as many requests as it may")
    func requestsPerConnection() throws {
        let server = try ScriptedHTTP2Server()
        let gateway = try GatewayProcess(
            .http2Upstream(port: server.port, more: ", requests_per_connection: 2"))
        let client = try gateway.connect()
        for _ in 0..<5 { #expect(try client.exchange("GET", "/").status == 200) }
        #expect(server.connectionCount == 3)
    }

    @Test("takes no more at once than its SETTINGS say; the rest waits, or gets a connection")
    func concurrentStreams() throws {
        let gate = Gate()
        let server = try ScriptedHTTP2Server(settings: [(3, 2)]) { request, connection in
            Thread.detachNewThread {
                gate.wait()
                try? connection.respond(to: request, body: request.path)
            }
        }
        let more = ", connections_max: 2, queue: { requests: 10 }"
        let gateway = try GatewayProcess(.http2Upstream(port: server.port, more: more))
        let client = try HTTP2Client(port: gateway.port)
        for stream in [1, 3, 5, 7, 9, 11] as [UInt32] {
            try client.request(stream, "GET", "/\(stream)")
        }
        try server.wait { $0.count == 4 }
        gate.open()
        for stream in [1, 3, 5, 7, 9, 11] as [UInt32] {
            #expect(try client.answer(stream).bodyText == "/\(stream)")
        }
        #expect(server.connectionCount == 2)
    }

    @Test("is checked in HTTP/2 too")
    func healthCheck() throws {
        let server = try ScriptedHTTP2Server()
        let check = ", health_check: { path: /health, interval: 100ms, rises: 1 }"
        let gateway = try GatewayProcess(.http2Upstream(port: server.port, more: check))
        let seen = try server.wait { $0.count { $0.path == "/health" } >= 2 }
        #expect(seen.allSatisfy { $0["connection"] == nil && $0["user-agent"] != nil })
        #expect(Set(seen.map(\.connection)).count == seen.count)
        #expect(try gateway.exchange("GET", "/").status == 200)
    }
}
