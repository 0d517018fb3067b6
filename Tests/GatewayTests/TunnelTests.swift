import Foundation
import GatewayTesting
import Policy
import Settings
import Testing

@testable import Gateway

@Suite("WebSocket tunnels")
struct TunnelTests {}

extension TunnelTests {
    private static let upgrade = [
        ("Connection", "keep-alive, Upgrade"), ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]

    private func gateway(
        _ upstream: EchoUpstream, _ configure: (inout Settings) -> Void = { _ in }
    ) throws -> GatewayUnderTest {
        try GatewayUnderTest {
            $0.upstreams[0].servers = [UpstreamServer(.tcp(host: "127.0.0.1", port: upstream.port))]
            for index in $0.routes.indices { $0.routes[index].allowsWebSocket = true }
            configure(&$0)
        }
    }

    private func metrics(_ gateway: GatewayUnderTest) throws -> String {
        try RawClient(port: gateway.adminPort).exchange("GET", "/metrics").bodyText
    }

    @Test("bytes go both ways after the 101, those sent before it included")
    func echo() throws {
        let upstream = try EchoUpstream()
        let gateway = try gateway(upstream)
        let client = try gateway.client()
        var text = "GET /ws HTTP/1.1\r\nHost: a\r\n"
        for (name, value) in Self.upgrade { text += "\(name): \(value)\r\n" }
        // What looks like a request is none here.
        let early = "GET /attested/x HTTP/1.1\r\nHost: a\r\n\r\n"
        try client.send(text + "\r\n" + early)
        let answer = try client.receive()
        #expect(answer.status == 101)
        #expect(answer["Upgrade"] == "websocket")
        #expect(answer["Connection"] == "Upgrade")
        #expect(answer["Sec-WebSocket-Accept"] == "x")
        #expect(try client.receiveBytes(early.utf8.count) == Array(early.utf8))
        for number in 0..<20 {
            try client.send("ping \(number)")
            let count = "ping \(number)".utf8.count
            #expect(try client.receiveBytes(count) == Array("ping \(number)".utf8))
        }
        #expect(try metrics(gateway).contains("sallyport_tunnels{worker=\"0\"} 1\n"))
        // A client that sends no more still hears the rest.
        client.socket.shutdownSending()
        #expect(try client.receiveToEnd() == Array("bye".utf8))
        let head = try #require(upstream.requestHeads.first)
        #expect(head.contains("\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"))
        #expect(head.contains("\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"))
        try waitWhile(!metrics(gateway).contains("sallyport_tunnels{worker=\"0\"} 0\n"))
        #expect(try metrics(gateway).contains("sallyport_tunnels_total 1\n"))
        let lines = try gateway.logLines()
        #expect(lines.count == 1)
        #expect(lines.first?.contains("\"status\":101") == true)
        #expect(lines.first?.contains("\"reason\":\"ok\"") == true)
    }

    @Test("a tunnel carries more than any buffer holds, at the pace of the slower side")
    func backPressure() throws {
        let upstream = try EchoUpstream()
        let gateway = try gateway(upstream) { $0.limits.responseBufferByteCountMax = 16 * 1024 }
        let client = try gateway.client(receiveBufferByteCount: 4096)
        try client.send("GET", "/ws", fields: Self.upgrade)
        #expect(try client.receive().status == 101)
        let block = Array(String(repeating: "0123456789abcdef", count: 4096).utf8)
        let blockCount = 64
        let socket = client.socket
        let sender = Foundation.Thread {
            for _ in 0..<blockCount { try? socket.send(block) }
            socket.shutdownSending()
        }
        sender.start()
        for _ in 0..<blockCount { #expect(try client.receiveBytes(block.count) == block) }
        #expect(try client.receiveToEnd() == Array("bye".utf8))
    }

    @Test("a route that enforces opens a tunnel only for a verified request")
    func verified() throws {
        let upstream = try EchoUpstream()
        let gateway = try gateway(upstream)
        let device = try EnrolledDevice(gateway)
        let bare = try gateway.client().exchange("GET", "/attested/ws", fields: Self.upgrade)
        #expect(bare.status == 401)
        let fields = try device.signedFields("GET", "/attested/ws") + Self.upgrade
        let answer = try device.client.exchange("GET", "/attested/ws", fields: fields)
        #expect(answer.status == 101)
        try device.client.send("hello")
        #expect(try device.client.receiveBytes(5) == Array("hello".utf8))
        #expect(upstream.requestHeads.count == 1)
        #expect(upstream.requestHeads.first?.contains("X-Attest-Result: verified") == true)
    }

    @Test("bytes sent for a tunnel that the upstream declines are never a request")
    func declined() throws {
        let gateway = try GatewayUnderTest(upstream: { _ in .response(426) }) {
            for index in $0.routes.indices { $0.routes[index].allowsWebSocket = true }
        }
        let client = try gateway.client()
        var text = "GET /ws HTTP/1.1\r\nHost: a\r\n"
        for (name, value) in Self.upgrade { text += "\(name): \(value)\r\n" }
        try client.send(text + "\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
        let answer = try client.receive()
        #expect(answer.status == 426)
        #expect(answer["Connection"] == "close")
        #expect(try client.receiveToEnd().isEmpty)
        gateway.stop()
        #expect(gateway.upstream.requests.map(\.target) == ["/ws"])
    }

    @Test("what is not plainly a WebSocket handshake goes on without Upgrade")
    func notAsked() throws {
        let gateway = try GatewayUnderTest {
            let closed = GatewayUnderTest.route("closed", "/closed") { _ in }
            for index in $0.routes.indices { $0.routes[index].allowsWebSocket = true }
            $0.routes.append(closed)
            $0.routes[$0.routes.count - 1].path = .exact("/closed")
        }
        for text in [
            "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
            "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n",
            "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket, h2c\r\n\r\n",
            "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                + "Upgrade: websocket\r\n\r\n",
            "POST /ws HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                + "Content-Length: 0\r\n\r\n",
            "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                + "Content-Length: 1\r\n\r\nx",
            "GET /closed HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        ] {
            let client = try gateway.client()
            try client.send(text)
            #expect(try client.receive().status == 200)
            let request = try #require(gateway.upstream.requests.last)
            #expect(request.target != "/next" && request["Upgrade"] == nil, "\(text)")
            #expect(request["Connection"] == nil)
            #expect(try client.exchange("GET", "/next").status == 200)
        }
    }

    @Test(
        "an upstream that switches unasked, or to something else, is refused",
        arguments: [true, false])
    func unasked(isAsked: Bool) throws {
        let upstream = try EchoUpstream(
            answer: isAsked
                ? "HTTP/1.1 101 OK\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
                : EchoUpstream.agreement)
        let gateway = try gateway(upstream)
        let answer = try gateway.client().exchange(
            "GET", "/ws", fields: isAsked ? Self.upgrade : [])
        #expect(answer.status == 502)
    }

    @Test("an upstream that sends no more still hears the client")
    func upstreamEndsFirst() throws {
        let upstream = try EchoUpstream(endsFirst: true)
        let gateway = try gateway(upstream)
        let client = try gateway.client()
        try client.send("GET", "/ws", fields: Self.upgrade)
        #expect(try client.receive().status == 101)
        #expect(try client.receiveToEnd() == Array("bye".utf8))
        try client.send("one more ")
        try client.send("word")
        client.socket.shutdownSending()
        #expect(upstream.waitForRest() == Array("one more word".utf8))
        let lines = try gateway.logLines()
        #expect(lines.first?.contains("\"reason\":\"ok\"") == true)
        #expect(lines.first?.contains("detail") == false)
    }

    @Test("a client that does not follow its upstream's end is given the tunnel's time-out")
    func halfIdle() throws {
        let upstream = try EchoUpstream(endsFirst: true)
        let gateway = try gateway(upstream) { $0.timeouts.tunnel = .milliseconds(100) }
        let client = try gateway.client()
        try client.send("GET", "/ws", fields: Self.upgrade)
        #expect(try client.receive().status == 101)
        #expect(upstream.waitForRest().isEmpty)
        #expect(try client.receiveToEnd() == Array("bye".utf8))
        let lines = try gateway.logLines()
        #expect(lines.first?.contains("\"detail\":\"tunnel_timeout\"") == true)
    }

    @Test("a tunnel without traffic ends after its time-out")
    func idle() throws {
        let upstream = try EchoUpstream()
        let gateway = try gateway(upstream) { $0.timeouts.tunnel = .milliseconds(100) }
        let client = try gateway.client()
        try client.send("GET", "/ws", fields: Self.upgrade)
        #expect(try client.receive().status == 101)
        #expect(try client.receiveToEnd().isEmpty)
        let lines = try gateway.logLines()
        #expect(lines.first?.contains("\"detail\":\"tunnel_timeout\"") == true)
    }
}

@Suite("Request deadlines")
struct RequestDeadlineTests {}

extension RequestDeadlineTests {
    @Test("a late upstream is 504, a late client 408, and what streams already goes on")
    func deadlines() throws {
        let gates = (stream: Gate(), late: Gate())
        defer { gates.late.open() }
        let gateway = try GatewayUnderTest(upstream: { request in
            guard request.target == "/stream" else { return .response(after: gates.late) }
            return UpstreamAnswer([
                .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello".utf8)),
                .wait(gates.stream), .send(Array("world".utf8)),
            ])
        }) { $0.timeouts.request = .seconds(1) }
        let streaming = try gateway.client()
        try streaming.send("GET", "/stream")
        #expect(try streaming.receiveHead().status == 200)
        // Each piece arrives when it is sent, not when the answer is complete.
        #expect(try streaming.receiveBytes(5) == Array("hello".utf8))
        let late = try gateway.client().exchange("GET", "/late")
        #expect(late.status == 504)
        #expect(late.code == "upstream_timeout")
        let slow = try gateway.client()
        try slow.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        let refused = try slow.receive()
        #expect(refused.status == 408)
        gates.stream.open()
        #expect(try streaming.receiveBytes(5) == Array("world".utf8))
        // The next request of a connection has its own deadline.
        #expect(try streaming.exchange("GET", "/late").status == 504)
    }
}
