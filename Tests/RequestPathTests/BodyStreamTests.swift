import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "A body that goes on as it comes", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct BodyStreamTests {}

extension BodyStreamTests {
    private static let route = ["request_body: stream", "body_max: 16MiB"]

    /// Answers each head at once, and each whole request with its size behind that.
    private static func echo() throws -> ScriptedHTTP2Server {
        try ScriptedHTTP2Server { request, connection in
            if request.body.isEmpty { try Self.begin(request, connection) }
            try connection.send(.data(request.stream, Array("\(request.body.count)".utf8)))
        } head: {
            try Self.begin($0, $1)
        }
    }

    private static func begin(
        _ request: ScriptedHTTP2Server.Request, _ connection: ScriptedHTTP2Connection
    ) throws {
        try connection.send(.headers(request.stream, [(":status", "200")], endStream: false))
    }

    @Test("reaches the upstream while the client still sends, and the answer comes meanwhile")
    func both() throws {
        let server = try Self.echo()
        let gateway = try GatewayProcess(.http2Upstream(port: server.port, route: Self.route))
        let two = try HTTP2Client(port: gateway.port)
        try two.send(
            .headers(1, HTTP2Client.head("POST", "/two"), endStream: false),
            .data(1, Array("ab".utf8), endStream: false))
        try server.wait { $0.first?.bodyText == "ab" }
        try two.receive { $0.answers[1]?.status == 200 }
        try two.send(.data(1, Array("cde".utf8)))
        #expect(try two.answer(1).bodyText == "5")

        let one = try gateway.connect()
        try one.send(
            "POST /one HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
        try server.wait { $0.last?.bodyText == "ab" }
        let head = try one.receiveHead()
        #expect(head.status == 200)
        #expect(head["Connection"] == "close", "the answer came before the body was read")
        try one.send("3\r\ncde\r\n0\r\n\r\n")
        #expect(try one.receiveBytes(11) == Array("1\r\n5\r\n0\r\n\r\n".utf8))
        #expect(try one.receiveToEnd().isEmpty)
        let line = try gateway.accessLine { $0["path"]?.stringValue == "/one" }
        #expect(line["bytes_in"]?.integerValue == 5)
    }

    @Test("reaches an upstream in HTTP/1.1 in the framing that it has", arguments: [true, false])
    func http1(isChunked: Bool) throws {
        let upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration.http2(upstreamPort: upstream.port)
        configuration.routes[0].more = Self.route
        let gateway = try GatewayProcess(configuration)
        let client = try gateway.connect()
        let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 5"
        try client.send("POST / HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n")
        try client.send(isChunked ? "2\r\nab\r\n" : "ab")
        let begun = Array((isChunked ? "\r\n\r\n2\r\nab\r\n" : "\r\n\r\nab").utf8)
        try upstream.waitForBytes(onConnection: 0) { $0.suffix(begun.count) == begun[...] }
        try client.send(isChunked ? "3\r\ncde\r\n0\r\nX-T: 1\r\n\r\n" : "cde")
        #expect(try client.receive().status == 200)
        let seen = try #require(upstream.requests.first).message
        #expect(seen.bodyText == "abcde" && seen.trailers.isEmpty)
        #expect(seen["Content-Length"] == (isChunked ? nil : "5"))
        #expect(seen["Transfer-Encoding"] == (isChunked ? "chunked" : nil))
        // Both connections live on.
        #expect(try client.exchange("POST", "/", body: [1]).status == 200)
        #expect(upstream.connectionCount == 1)
    }

    @Test("is not cut off by its own time-out once the answer has begun")
    func begunAnswer() throws {
        let server = try Self.echo()
        let route = Self.route + ["timeouts: { request_body: 1s }"]
        let gateway = try GatewayProcess(.http2Upstream(port: server.port, route: route))
        let client = try gateway.connect()
        let head = "POST /one HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        try client.send(head + "2\r\nab\r\n")
        #expect(try client.receiveHead().status == 200)
        // One whose answer does not begin: once that is cut off the other's time is over too.
        let upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration.http2(upstreamPort: upstream.port)
        configuration.routes[0].more = route
        let other = try GatewayProcess(configuration)
        for _ in 0..<2 {
            let silent = try other.connect()
            try silent.send(head + "2\r\nab\r\n")
            #expect(try silent.receive().status == 408)
        }
        try client.send("3\r\ncde\r\n0\r\n\r\n")
        #expect(try client.receiveBytes(11) == Array("1\r\n5\r\n0\r\n\r\n".utf8))
    }

    @Test("has to come as fast as one that is held")
    func pace() throws {
        let upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration.http2(upstreamPort: upstream.port)
        configuration.routes[0].more = Self.route
        configuration.more = [
            "limits: { body_rate_min: 16MiB/s }",
            "timeouts: { body_grace: 200ms, request_body: 10m }",
        ]
        let gateway = try GatewayProcess(configuration)
        let client = try gateway.connect()
        try client.send("POST /one HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab")
        #expect(try client.receive().status == 408)
        let two = try HTTP2Client(port: gateway.port)
        try two.send(
            .headers(1, HTTP2Client.head("POST", "/two"), endStream: false),
            .data(1, Array("ab".utf8), endStream: false))
        #expect(try two.answer(1).status == 408)
    }

    @Test("makes the client wait where the upstream takes no more")
    func backPressure() throws {
        let gate = Gate()
        let server = try ScriptedHTTP2Server(
            settings: [(4, 65_535)], { try $1.respond(to: $0, body: "\($0.body.count)") },
            head: { _, _ in gate.wait() })
        var configuration = GatewayConfiguration.http2Upstream(
            port: server.port, route: Self.route)
        configuration.more = [
            "limits: { response_buffer: 64KiB, http2: { stream_window: 64KiB } }"
        ]
        let gateway = try GatewayProcess(configuration)
        let client = try HTTP2Client(port: gateway.port)
        try client.send(.headers(1, HTTP2Client.head("POST"), endStream: false))
        let chunk = [UInt8](repeating: 0x61, count: 16_384)
        var sent = 0
        func sendAll() throws {
            let window = Int(client.serverSettings[4] ?? 0)
            while sent < 1 << 20, window + client.grantedByteCount(1) - sent >= chunk.count {
                sent += chunk.count
                try client.send(.data(1, chunk, endStream: sent == 1 << 20))
            }
        }
        for _ in 0..<50 {
            try sendAll()
            try client.settle()
        }
        // The upstream's window, what is made ready for it, what the gateway holds, and the
        // client's own window.
        #expect(sent <= 6 * 65_536)
        gate.open()
        try client.receive { _ in
            try sendAll()
            return sent == 1 << 20
        }
        #expect(try client.answer(1).bodyText == "\(1 << 20)")
    }

    @Test("beyond the route's limit ends both sides, however much has gone")
    func tooLarge() throws {
        let server = try ScriptedHTTP2Server()
        let route = ["request_body: stream", "body_max: 1KiB"]
        let gateway = try GatewayProcess(.http2Upstream(port: server.port, route: route))
        let client = try HTTP2Client(port: gateway.port)
        let chunk = [UInt8](repeating: 0x61, count: 600)
        try client.send(
            .headers(1, HTTP2Client.head("POST"), endStream: false),
            .data(1, chunk, endStream: false))
        try server.wait { $0.first?.body.count == 600 }
        try client.send(.data(1, chunk, endStream: false))
        #expect(try client.answer(1).status == 413)
        try server.wait { $0.first?.resetCode == 8 }
        let head = HTTP2Client.head("POST", "/", [("content-length", "2000")])
        try client.send(.headers(3, head, endStream: false))
        #expect(try client.answer(3).status == 413)
    }

    @Test("that breaks off takes the upstream's part with it")
    func brokenOff() throws {
        let server = try ScriptedHTTP2Server()
        let gateway = try GatewayProcess(.http2Upstream(port: server.port, route: Self.route))
        let client = try gateway.connect()
        try client.send(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
        try server.wait { $0.first?.bodyText == "ab" }
        try client.send("nonsense\r\n")
        #expect(try client.receive().status == 400)
        try server.wait { $0.first?.resetCode == 8 }
        let second = try gateway.connect()
        try second.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab")
        try server.wait { $0.last?.bodyText == "ab" && $0.count == 2 }
        second.socket.close()
        try server.wait { $0.last?.resetCode == 8 }
    }

    @Test("of another length than was announced never reaches the upstream whole")
    func otherLength() throws {
        let upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration.http2(upstreamPort: upstream.port)
        configuration.routes[0].more = Self.route
        let gateway = try GatewayProcess(configuration)
        let client = try HTTP2Client(port: gateway.port)
        // Each part is looked at before the next is sent.
        func begin(_ stream: UInt32, _ length: String) throws {
            let head = HTTP2Client.head("POST", "/bad", [("content-length", length)])
            try client.send(.headers(stream, head, endStream: false))
            try client.settle()
        }
        try begin(1, "0")
        try client.send(.data(1, [UInt8](repeating: 0x61, count: 39)))
        #expect(try client.answer(1).resetCode == 1)
        #expect(try client.exchange(3, "GET", "/ok").status == 200)
        #expect(upstream.requests.map(\.target) == ["/ok"])

        try begin(5, "5")
        try client.send(.data(5, Array("abcde".utf8), endStream: false))
        try upstream.waitForBytes(onConnection: 0) { $0.suffix(4) == Array("abcd".utf8)[...] }
        try client.settle()
        try client.send(.data(5, Array("fg".utf8)))
        #expect(try client.answer(5).resetCode == 1)
        try upstream.waitForClose(ofConnection: 0)
        #expect(upstream.requests.map(\.target) == ["/ok"])

        try begin(7, "5")
        try client.send(.data(7, Array("abcde".utf8), endStream: false))
        try client.send(.headers(7, [(":method", "GET")]))
        #expect(try client.answer(7).resetCode == 1)
        try upstream.waitForClose(ofConnection: 1)
        #expect(upstream.requests.map(\.target) == ["/ok"])

        try begin(9, "5")
        try client.send(.data(9, Array("abcde".utf8), endStream: false))
        try client.settle()
        try client.send(.data(9, []))
        #expect(try client.answer(9).status == 200)
        #expect(upstream.requests.last?.message.bodyText == "abcde")
        try begin(11, "0")
        try client.send(.data(11, []))
        #expect(try client.answer(11).status == 200)
        #expect(upstream.requests.last?["Content-Length"] == "0")
    }

    @Test("is answered before its end where the upstream has heard enough")
    func answeredEarly() throws {
        let server = try ScriptedHTTP2Server(
            head: { request, connection in
                try connection.send(
                    .headers(request.stream, [(":status", "403"), ("content-length", "0")]))
            })
        let gateway = try GatewayProcess(.http2Upstream(port: server.port, route: Self.route))
        let two = try HTTP2Client(port: gateway.port)
        try two.send(.headers(1, HTTP2Client.head("POST"), endStream: false))
        #expect(try two.answer(1).status == 403)
        let one = try gateway.connect()
        try one.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab")
        #expect(try one.receive().status == 403)
        #expect(try one.receiveToEnd().isEmpty)
        let seen = try server.wait { $0.count(where: { $0.resetCode == 8 }) == 2 }
        #expect(seen.allSatisfy { !$0.isComplete })
    }

    @Test("is asked for once there is somebody to take it")
    func expectation() throws {
        let server = try ScriptedHTTP2Server()
        let gateway = try GatewayProcess(.http2Upstream(port: server.port, route: Self.route))
        let client = try gateway.connect()
        try client.send(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        #expect(try client.receiveAny().status == 100)
        try client.send("ab")
        #expect(try client.receive().status == 200)
        #expect(try server.wait().first?["expect"] == nil)
    }

    @Test("is not late while no connection is free for it, and nobody has asked for it")
    func lateExpectation() throws {
        let gate = Gate()
        let upstream = try RecordingUpstream { request in
            request.target == "/first" ? .response(after: gate) : .response()
        }
        var configuration = GatewayConfiguration.http2(upstreamPort: upstream.port)
        configuration.upstreams["api"]? +=
            ", connections_max: 1, queue: { requests: 10, timeout: 5m }"
        configuration.routes[0].more = Self.route
        configuration.workers = 1
        // What comes once it is asked for has this long, on a busy machine too.
        configuration.more = ["timeouts: { request_body: 3s }"]
        let gateway = try GatewayProcess(configuration)
        let first = try gateway.connect()
        try first.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\n")
        try upstream.waitForRequests(1)
        let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
        let patient = try gateway.connect()
        try patient.send(head + "Expect: 100-continue\r\n\r\n")
        let two = try HTTP2Client(port: gateway.port)
        try two.send(
            .headers(
                1, HTTP2Client.head("POST", "/two", [("expect", "100-continue")]),
                endStream: false),
            // This one does not wait, and has sent all of a body without a byte.
            .headers(
                3, HTTP2Client.head("POST", "/none", [("expect", "100-continue")]),
                endStream: false), .data(3, []))
        // One that has nothing to wait for is late, and came after them.
        let late = try gateway.connect()
        try late.send(head + "\r\n")
        #expect(try late.receive().status == 408)
        gate.open()
        #expect(try first.receive().status == 200)
        #expect(try patient.receiveAny().status == 100)
        try patient.send("ab")
        #expect(try patient.receive().status == 200)
        try two.send(.data(1, Array("ab".utf8)))
        #expect(try two.answer(1).status == 200)
        let none = try two.answer(3)
        #expect(none.status == 200 && none.interim.isEmpty)
    }
}
