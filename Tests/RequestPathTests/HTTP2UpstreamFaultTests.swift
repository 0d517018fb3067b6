import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "An HTTP/2 upstream that refuses, ends or breaks", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct HTTP2UpstreamFaultTests {}

extension HTTP2UpstreamFaultTests {
    private static let refused: UInt32 = 7

    @Test("a request that a GOAWAY leaves out is sent again, an asserted one too")
    func goAway() throws {
        let server = try ScriptedHTTP2Server { request, connection in
            if connection.index == 0, request.stream == 3 {
                // It has acted on stream 1 alone.
                return try connection.send(.goAway(lastStream: 1, code: 0))
            }
            try connection.respond(to: request)
        }
        var configuration = GatewayConfiguration.http2Upstream(port: server.port)
        configuration.routes = [.init("api", path: "/*", attest: "mode: enforce")]
        let gateway = try GatewayProcess(configuration)
        let client = try SimulatedClient.enrolled(gateway)
        #expect(try client.request("POST", "/a", body: [1]).status == 200)
        #expect(try client.request("POST", "/b", body: [2]).status == 200)
        let seen = try server.wait { $0.count == 3 }
        #expect(seen.map(\.connection) == [0, 0, 1])
        #expect(seen.map(\.path) == ["/a", "/b", "/b"])
        #expect(server.connectionCount == 2)
        #expect(try gateway.metric("sallyport_upstream_retries_total") == 1)
    }

    @Test("a connection that is going away serves what it has taken, and nothing more")
    func draining() throws {
        let gate = Gate()
        let server = try ScriptedHTTP2Server { request, connection in
            // What a server leaves out it does not look at.
            guard connection.index == 0 else { return try connection.respond(to: request) }
            guard request.path == "/slow" else { return }
            try connection.send(.goAway(lastStream: request.stream, code: 0))
            Thread.detachNewThread {
                gate.wait()
                try? connection.respond(to: request, body: "late")
            }
        }
        let gateway = try GatewayProcess(.http2Upstream(port: server.port))
        let client = try HTTP2Client(port: gateway.port)
        try client.request(1, "GET", "/slow")
        try server.wait()
        #expect(try client.exchange(3, "GET", "/next").status == 200)
        gate.open()
        #expect(try client.answer(1).bodyText == "late")
        // The request may have been on its way to the first connection when that said farewell.
        let seen = try server.wait().filter { $0.path == "/next" }
        #expect(seen.contains { $0.connection == 1 })
        #expect(server.connectionCount == 2)
    }

    @Test("a refused stream is tried again, and not for ever")
    func refusedStream() throws {
        let server = try ScriptedHTTP2Server { request, connection in
            let isFirst = request.path == "/once" && request.stream == 1
            guard isFirst || request.path == "/never" else {
                return try connection.respond(to: request)
            }
            try connection.send(.reset(request.stream, code: Self.refused))
        }
        let gateway = try GatewayProcess(.http2Upstream(port: server.port))
        #expect(try gateway.exchange("POST", "/once", body: [1]).status == 200)
        #expect(try gateway.exchange("POST", "/never", body: [1]).status == 502)
        let seen = try server.wait { $0.count == 5 }
        #expect(seen.map(\.path) == ["/once", "/once", "/never", "/never", "/never"])
        #expect(seen.allSatisfy { $0.bodyText == "\u{1}" })
    }

    @Test("a server that takes no streams for now is asked a few times, and not for ever")
    func noStreams() throws {
        let server = try ScriptedHTTP2Server(settings: [(3, 0)]) { request, connection in
            try connection.respond(to: request)
        }
        let gateway = try GatewayProcess(.http2Upstream(port: server.port))
        #expect(try gateway.exchange("GET", "/").status == 502)
        // Two more tries than one.
        #expect(server.connectionCount == 3)
    }

    @Test("a request that the upstream may have acted on is not sent again")
    func reset() throws {
        let server = try ScriptedHTTP2Server { request, connection in
            switch request.path {
            case "/reset": try connection.send(.reset(request.stream, code: 2))
            case "/half":
                try connection.send(
                    .headers(request.stream, [(":status", "200")], endStream: false),
                    .data(request.stream, Array("half".utf8), endStream: false),
                    .reset(request.stream, code: 2))
            case "/close": connection.socket.close()
            default: try connection.respond(to: request)
            }
        }
        let gateway = try GatewayProcess(.http2Upstream(port: server.port))
        let client = try HTTP2Client(port: gateway.port)
        #expect(try client.exchange(1, "POST", "/reset", body: [1]).status == 502)
        #expect(try client.exchange(3, "GET", "/half").resetCode == 2)
        #expect(try client.exchange(5, "POST", "/close", body: [1]).status == 502)
        #expect(try client.exchange(7, "GET", "/").status == 200)
        let seen = try server.wait { $0.count == 4 }
        #expect(seen.map(\.path) == ["/reset", "/half", "/close", "/"])
    }

    @Test("an answer of another length than it announces never reaches a client whole")
    func otherLength() throws {
        let gate = Gate()
        let server = try ScriptedHTTP2Server { request, connection in
            let length = request.path == "/none" ? "0" : "5"
            let head = [(":status", "200"), ("content-length", length)]
            try connection.send(.headers(request.stream, head, endStream: false))
            let body = length == "0" ? [] : Array("abcde".utf8)
            if length != "0" { try connection.send(.data(request.stream, body, endStream: false)) }
            guard request.path == "/none" || request.path == "/more" else {
                return try connection.send(.data(request.stream, []))
            }
            gate.wait()
            try connection.send(.data(request.stream, Array("fg".utf8)))
        }
        let gateway = try GatewayProcess(.http2Upstream(port: server.port))
        let one = try gateway.connect()
        let two = try HTTP2Client(port: gateway.port)
        #expect(try one.exchange("GET", "/whole").bodyText == "abcde")
        #expect(try two.exchange(1, "GET", "/whole").bodyText == "abcde")
        try one.send("GET /more HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try one.receiveHead()["Content-Length"] == "5")
        #expect(try one.receiveBytes(4) == Array("abcd".utf8))
        gate.open()
        #expect(try one.receiveToEnd().isEmpty)
        #expect(try two.exchange(3, "GET", "/more").resetCode == 2)
        #expect(try two.exchange(5, "GET", "/none").status == 502)
    }

    @Test("one that does not answer in time loses the stream, not the connection")
    func timeouts() throws {
        let server = try ScriptedHTTP2Server { request, connection in
            switch request.path {
            case "/head": break
            case "/body":
                try connection.send(
                    .headers(request.stream, [(":status", "200")], endStream: false))
            default: try connection.respond(to: request)
            }
        }
        let more = ", response_timeout: 1s, read_timeout: 1s"
        let gateway = try GatewayProcess(.http2Upstream(port: server.port, more: more))
        let client = try HTTP2Client(port: gateway.port)
        #expect(try client.exchange(1, "POST", "/head", body: [1]).status == 504)
        #expect(try client.exchange(3, "GET", "/body").resetCode == 2)
        #expect(try client.exchange(5, "GET", "/").status == 200)
        let seen = try server.wait {
            $0.count == 3 && $0.prefix(2).allSatisfy { $0.resetCode != nil }
        }
        #expect(seen.prefix(2).map(\.resetCode) == [8, 8], "CANCEL")
        #expect(server.connectionCount == 1)
    }

    @Test("one that is silent is asked whether it is there")
    func ping() throws {
        let server = try LoopbackListener { socket in
            try? socket.send(HTTP2Frame.settings([]).bytes)
            while let bytes = try? socket.receive(), !bytes.isEmpty {}
        }
        let gateway = try GatewayProcess(
            .http2Upstream(port: server.port, more: ", http2: { ping_interval: 1s }"))
        #expect(try gateway.exchange("POST", "/", body: [1]).status == 502)
        let detail = try gateway.accessLine()["detail"]?.stringValue
        #expect(detail == "broken: no answer to a PING")
        server.stop()
    }

    @Test("a client that goes away takes its request with it")
    func abandoned() throws {
        let server = try ScriptedHTTP2Server { request, connection in
            if request.path == "/" { try connection.respond(to: request) }
        }
        let gateway = try GatewayProcess(.http2Upstream(port: server.port))
        let client = try HTTP2Client(port: gateway.port)
        try client.request(1, "GET", "/wait")
        try server.wait()
        try client.send(.reset(1, code: 8))
        try server.wait { $0.first?.resetCode == 8 }
        #expect(try client.exchange(3, "GET", "/").status == 200)
        #expect(server.connectionCount == 1)
    }

    @Test("a client that takes nothing holds up its own answer alone")
    func slowClient() throws {
        let chunk = [UInt8](repeating: 0x61, count: 16_000)
        let server = try ScriptedHTTP2Server { request, connection in
            guard request.path == "/large" else { return try connection.respond(to: request) }
            try connection.send(
                .headers(request.stream, [(":status", "200")], endStream: false))
            // As much as the windows take: 65535 is what HTTP/2 begins with.
            for _ in 0..<4 { try connection.send(.data(request.stream, chunk, endStream: false)) }
        }
        let more = ", http2: { stream_window: 64KiB, connection_window: 64KiB }"
        var configuration = GatewayConfiguration.http2Upstream(port: server.port, more: more)
        configuration.more = ["limits: { response_buffer: 16KiB }"]
        let gateway = try GatewayProcess(configuration)
        let slow = try HTTP2Client(port: gateway.port, settings: [(4, 0)])
        try slow.request(1, "GET", "/large")
        try server.wait()
        let other = try HTTP2Client(port: gateway.port)
        for index in 0..<8 {
            let stream = UInt32(index * 2 + 1)
            #expect(try other.exchange(stream, "GET", "/\(index)").bodyText == "hello\n")
        }
        #expect(server.connectionCount == 1)
    }
}
