import EventLoop
import GatewayTesting
import HTTP
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("Upstream answers")
struct ProxyTests {}

extension ProxyTests {
    private func answer(
        _ upstream: UpstreamAnswer, method: String = "GET", version: String = "1.1",
        by gateway: GatewayUnderTest
    ) throws -> (message: HTTPMessage, rest: [UInt8]) {
        gateway.upstream.answer { _ in upstream }
        let client = try gateway.client()
        try client.send("\(method) /x HTTP/\(version)\r\nHost: a\r\nConnection: close\r\n\r\n")
        let message = try client.receive(toHEAD: method == "HEAD")
        return (message, try client.receiveToEnd())
    }

    @Test("an answer without a body has none, whatever its fields say")
    func bodiless() throws {
        let gateway = try GatewayUnderTest()
        let empty = try answer(
            .raw("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"), by: gateway)
        #expect(empty.message.status == 204)
        #expect(empty.message["Content-Length"] == nil)
        #expect(empty.rest.isEmpty)
        let unchanged = try answer(
            .raw("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), by: gateway)
        #expect(unchanged.message["Content-Length"] == "5")
        #expect(unchanged.rest.isEmpty)
        let head = try answer(
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), method: "HEAD", by: gateway)
        #expect(head.message["Content-Length"] == "5")
        #expect(head.rest.isEmpty)
        let chunkedHead = try answer(
            .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), method: "HEAD",
            by: gateway)
        #expect(chunkedHead.message.status == 200)
        #expect(chunkedHead.rest.isEmpty)
    }

    @Test("an answer of unknown length is chunked for clients that know it, closed for others")
    func framings() throws {
        let gateway = try GatewayUnderTest()
        for upstream in [UpstreamAnswer.chunked(["ab", "cde"]), .closeDelimited("abcde")] {
            let new = try answer(upstream, by: gateway)
            #expect(new.message["Transfer-Encoding"] == "chunked")
            #expect(new.message.bodyText == "abcde")
            let old = try answer(upstream, version: "1.0", by: gateway)
            #expect(old.message["Transfer-Encoding"] == nil)
            #expect(old.message["Connection"] == "close")
            #expect(old.message.bodyText + String(decoding: old.rest, as: UTF8.self) == "abcde")
        }
    }

    @Test("interim answers reach clients that know them, 100 excepted")
    func interim() throws {
        let upstream = UpstreamAnswer.raw(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let gateway = try GatewayUnderTest(upstream: { _ in upstream })
        let client = try gateway.client()
        try client.send("GET", "/x")
        let hints = try client.receiveAny()
        #expect(hints.status == 103)
        #expect(hints["Link"] == "</a>")
        #expect(try client.receiveAny().bodyText == "ok")
        let old = try gateway.client()
        try old.send("GET /x HTTP/1.0\r\n\r\n")
        #expect(try old.receiveAny().status == 200)
    }

    @Test("fields that end at this hop, and challenges that are not ours, stay behind")
    func fields() throws {
        let message = try answer(
            .raw(
                "HTTP/1.1 200 Fine\r\nConnection: x-internal\r\nX-Internal: 1\r\nKeep-Alive: 5\r\n"
                    + "Proxy-Connection: close\r\nX-App-Attest-Challenge: forged\r\nTrailer: a\r\n"
                    + "x_app_attest_challenge: forged\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
                    + "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n"),
            by: try GatewayUnderTest()
        ).message
        #expect(message.startLine == "HTTP/1.1 200 Fine")
        #expect(
            message.fields.map { $0.name } == [
                "Set-Cookie", "Set-Cookie", "Date", "Via", "X-Request-Id", "Content-Length",
                "Connection",
            ])
    }

    @Test("what is no HTTP is answered with 502 and taken for nothing else")
    func malformed() throws {
        let gateway = try GatewayUnderTest()
        for text in [
            "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
            "HTTP/1.1 20 OK\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n",
            "HTTP/1.1 103 Go\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 200 OK\r\n a: b\r\n\r\n",
        ] {
            let message = try answer(.raw(text), by: gateway).message
            #expect(message.status == 502, "\(text)")
            #expect(message.code == "upstream_failed")
            #expect(message.member("action") == "retry_later")
        }
    }

    @Test("an answer that breaks off is cut for the client too")
    func brokenOff() throws {
        let gateway = try GatewayUnderTest()
        let texts = [
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        ]
        for text in texts {
            gateway.upstream.answer { _ in .raw(text, then: .close) }
            let client = try gateway.client()
            try client.send("GET", "/x")
            _ = try client.receiveHead()
            let rest = try client.receiveToEnd()
            #expect(!rest.contains(0x30), "the end of a chunked body was made up")
        }
        gateway.stop()
        #expect(gateway.outcomes(of: "open") == ["refused upstream_failed": 4])
    }

    @Test("a connection is used again only where both sides are done with the exchange")
    func reuse() throws {
        let gateway = try GatewayUnderTest(upstream: { request in
            switch request.target {
            case "/close": .raw("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            case "/old": .raw("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")
            case "/more": .raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n")
            default: .response()
            }
        })
        let client = try gateway.client()
        for target in ["/a", "/close", "/b", "/old", "/c", "/more", "/d", "/e"] {
            #expect(try client.exchange("GET", target).status == 200)
        }
        #expect(gateway.upstream.requests.map(\.connection) == [0, 0, 1, 1, 2, 2, 3, 3])
    }

    @Test("a request that may be repeated is sent once more when a kept connection had died")
    func retry() throws {
        let gateway = try GatewayUnderTest(upstream: { request in
            request.target == "/dies" && request.connection == 0 ? .dies : .response()
        })
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/a").status == 200)
        #expect(try client.exchange("PUT", "/dies", body: Array("body".utf8)).status == 200)
        let requests = gateway.upstream.requests
        #expect(requests.map(\.target) == ["/a", "/dies", "/dies"])
        #expect(requests[1].body == requests[2].body)
        #expect(requests[1]["X-Request-Id"] == requests[2]["X-Request-Id"])
        gateway.stop()
        #expect(gateway.outcomes(of: "open") == ["passed ok": 2])
        #expect(gateway.hub.meters[0].value(.retries) == 1)
    }

    @Test("one that may not be repeated, or died on a fresh connection, is answered with 502")
    func noRetry() throws {
        let gateway = try GatewayUnderTest(upstream: { request in
            request.target == "/dies" ? .dies : .response()
        })
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/dies").status == 502)
        #expect(try client.exchange("GET", "/a").status == 200)
        #expect(try client.exchange("POST", "/dies").status == 502)
        #expect(try client.exchange("GET", "/a").status == 200)
        #expect(try client.exchange("GET", "/dies").status == 502)
        #expect(gateway.upstream.requests.filter { $0.target == "/dies" }.count == 4)
    }

    @Test("an upstream that nobody listens at is 502; with another server the request goes there")
    func otherServer() throws {
        let dead: UInt16 = try {
            let upstream = try RecordingUpstream()
            upstream.stop()
            return upstream.port
        }()
        let server = UpstreamServer(.tcp(host: "127.0.0.1", port: dead))
        let gateway = try GatewayUnderTest { $0.upstreams[0].servers.insert(server, at: 0) }
        let client = try gateway.client()
        let answer = try client.exchange("POST", "/x", body: Array("body".utf8))
        #expect(answer.status == 200)
        #expect(gateway.upstream.requests.first?.body == Array("body".utf8))
        try gateway.reload { $0.upstreams[0].servers = [server] }
        #expect(try client.exchange("GET", "/x").status == 502)
    }

    @Test("a connection that is not made in time is 504, or made to another server")
    func connectTimeout() throws {
        let full = try FullListener()
        let server = UpstreamServer(.tcp(host: "127.0.0.1", port: full.port))
        let gateway = try GatewayUnderTest {
            $0.upstreams[0].servers.insert(server, at: 0)
            $0.upstreams[0].connectTimeout = .seconds(1)
        }
        #expect(try gateway.client().exchange("POST", "/x").status == 200)
        try gateway.reload { $0.upstreams[0].servers = [server] }
        let refused = try gateway.client().exchange("GET", "/x")
        #expect(refused.status == 504)
        #expect(refused.code == "upstream_timeout")
    }

    @Test("an upstream that does not answer in time is 504, before its head and in its body")
    func timeouts() throws {
        let gate = Gate()
        defer { gate.open() }
        let gateway = try GatewayUnderTest(upstream: { request in
            request.target == "/stalls"
                ? UpstreamAnswer([
                    .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello".utf8)),
                    .wait(gate),
                ]) : .response(after: gate)
        }) {
            $0.upstreams[0].responseTimeout = .seconds(1)
            $0.upstreams[0].readTimeout = .seconds(1)
        }
        let client = try gateway.client()
        let late = try client.exchange("GET", "/x")
        #expect(late.status == 504)
        #expect(late.code == "upstream_timeout")
        try client.send("GET", "/stalls")
        _ = try client.receiveHead()
        #expect(try client.receiveToEnd() == Array("hello".utf8))
        gateway.stop()
        #expect(gateway.outcomes(of: "open") == ["refused upstream_timeout": 2])
    }

    @Test("beyond an upstream's connections a request is refused, not queued without bound")
    func connectionLimit() throws {
        let gate = Gate()
        let gateway = try GatewayUnderTest(upstream: { _ in .response(after: gate) }) {
            $0.upstreams[0].connectionCountMax = 1
        }
        let first = try gateway.client()
        try first.send("GET", "/1")
        try gateway.upstream.waitForRequests(1)
        let second = try gateway.client().exchange("GET", "/2")
        #expect(second.status == 503)
        #expect(second.code == "upstream_busy")
        gate.open()
        #expect(try first.receive().status == 200)
        #expect(try gateway.client().exchange("GET", "/3").status == 200)
        #expect(gateway.upstream.connectionCount == 1)
    }

    @Test("a client that leaves ends its request at the upstream, and is counted as gone")
    func clientLeaves() throws {
        let gate = Gate()
        defer { gate.open() }
        let gateway = try GatewayUnderTest(upstream: { _ in .response(after: gate) })
        let client = try gateway.client()
        try client.send("GET", "/x")
        try gateway.upstream.waitForRequests(1)
        client.socket.reset()
        gateway.stop()
        #expect(gateway.outcomes(of: "open") == ["passed client_closed": 1])
    }

    @Test("an upstream that answers early and reads no further has its answer relayed")
    func earlyAnswer() throws {
        let gateway = try GatewayUnderTest(upstream: { _ in .response() }) {
            $0.routes = [GatewayUnderTest.route("open", "/") { _ in }]
            $0.routes[0].bodyByteCountMax = 16 << 20
        }
        let early = try EarlyUpstream()
        try gateway.reload {
            $0.upstreams[0].servers = [UpstreamServer(.tcp(host: "127.0.0.1", port: early.port))]
        }
        let client = try gateway.client()
        let body = [UInt8](repeating: 0x2E, count: 16 << 20)
        let answer = try client.exchange("POST", "/x", body: body)
        #expect(answer.status == 413)
        #expect(answer.bodyText == "no")
        // The request was not sent whole: the connection cannot serve another one.
        #expect(try client.exchange("GET", "/y").status == 413)
        #expect(early.connectionCount == 2)
    }
}
