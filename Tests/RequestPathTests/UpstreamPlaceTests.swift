import GatewayTesting
import JSON
import Testing

@Suite(
    "The places of an upstream", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct UpstreamPlaceTests {
    /// Who waits for a time-out waits longer than the test.
    private static let patience = "timeouts: { send: 10m, response_grace: 10m, request_body: 10m }"

    private let upstream: RecordingUpstream

    init() throws {
        upstream = try RecordingUpstream { request in
            request.target == "/large" ? .large(byteCount: 64 << 20) : .response()
        }
    }
}

extension UpstreamPlaceTests {
    private func configuration(
        connectionCountMax: Int, route: [String] = [], more: String = ""
    ) -> GatewayConfiguration {
        var configuration = GatewayConfiguration.http2(upstreamPort: upstream.port)
        configuration.upstreams["api"]? += ", connections_max: \(connectionCountMax)\(more)"
        configuration.routes[0].more = route
        // Each worker has connections_max places of its own.
        configuration.workers = 1
        configuration.more = [Self.patience]
        return configuration
    }

    @Test("a client has so many requests under way, by its address, and the others go on")
    func requestsPerAddress() throws {
        let gate = Gate()
        upstream.answer { request in
            request.target == "/wait" ? .response(after: gate) : .response()
        }
        var configuration = configuration(connectionCountMax: 6)
        configuration.listenerMore.append("trusted_proxies: [127.0.0.0/8]")
        configuration.more.append("limits: { requests_per_address: 1 }")
        let gateway = try GatewayProcess(configuration)
        let client = try HTTP2Client(port: gateway.port)
        func fields(_ address: String) -> [(String, String)] { [("x-forwarded-for", address)] }
        // It may have one, and no more than it leaves: 3 of 6.
        for stream in [1, 3, 5] as [UInt32] {
            try client.request(stream, "GET", "/wait", fields: fields("2001:db8::\(stream)"))
        }
        try upstream.waitForRequests(3)
        let refused = try client.exchange(7, fields: fields("2001:db8::7"))
        #expect(refused.status == 429)
        #expect(refused["retry-after"] == "1")
        #expect(refused.bodyText.contains("rate_limited"))
        #expect(try gateway.accessLine()["detail"]?.stringValue == "requests_per_address")
        // Another /64, another client of the same proxy, and the proxy itself.
        for (stream, address) in [(9, "2001:db8:0:1::1"), (11, "192.0.2.1")] as [(UInt32, String)] {
            #expect(try client.exchange(stream, fields: fields(address)).status == 200)
        }
        #expect(try client.exchange(13).status == 200)
        gate.open()
        for stream in [1, 3, 5] as [UInt32] { #expect(try client.answer(stream).status == 200) }
        #expect(try client.exchange(15, fields: fields("2001:db8::7")).status == 200)
    }

    /// Two clients that take nothing of their answers, each with one of the upstream's connections.
    private func slowReaders(_ gateway: GatewayProcess) throws -> (HTTP2Client, RawClient) {
        let two = try HTTP2Client(port: gateway.port, settings: [(4, 0)])
        try two.request(1, "GET", "/large")
        try upstream.waitForRequests(1)
        let one = try RawClient(port: gateway.port, receiveBufferByteCount: 4096)
        try one.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        try upstream.waitForRequests(2)
        return (two, one)
    }

    @Test("those who read nothing make room when all are taken, and no more of them than needed")
    func slowReaders() throws {
        let gateway = try GatewayProcess(configuration(connectionCountMax: 2))
        let slow = try slowReaders(gateway)
        let client = try gateway.connect()
        var status = 503
        try repeatWhile(status == 503) { status = try client.exchange("GET", "/").status }
        #expect(status == 200)
        #expect(try client.exchange("GET", "/").status == 200)
        let line = try gateway.accessLine { $0["detail"]?.stringValue == "made_room" }
        #expect(line["reason"]?.stringValue == "client_closed")
        _ = slow
    }

    @Test("who reads nothing makes room for those who wait in line")
    func line() throws {
        let more = ", queue: { requests: 10, timeout: 5m }"
        let gateway = try GatewayProcess(configuration(connectionCountMax: 2, more: more))
        let slow = try slowReaders(gateway)
        let clients = try (0..<4).map { _ in try gateway.connect() }
        for client in clients { try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
        for client in clients { #expect(try client.receive().status == 200) }
        _ = slow
    }

    /// An answer whose first piece is read in one go.
    private static func twoPieces(second: Gate) -> UpstreamAnswer {
        let (first, rest) = (15_900, 1 << 20)
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(first + rest)\r\n\r\n"
        return UpstreamAnswer(
            [
                .send(Array(head.utf8) + [UInt8](repeating: 0x61, count: first)), .wait(second),
                .stream(byteCount: rest),
            ], then: .keepAlive)
    }

    @Test("each stream of a client that reads nothing makes room, not only the first of them")
    func streams() throws {
        let (more, gate) = (Gate(), Gate())
        upstream.answer { request in
            request.target == "/large" ? Self.twoPieces(second: more) : .response(after: gate)
        }
        let queue = ", queue: { requests: 10, timeout: 5m }"
        let gateway = try GatewayProcess(configuration(connectionCountMax: 8, more: queue))
        let slow = try HTTP2Client(port: gateway.port, settings: [(4, 0)])
        let streams = (0..<8).map { UInt32($0 * 2 + 1) }
        for stream in streams { try slow.request(stream, "GET", "/large") }
        // Together they fill what the client may have waiting, none of them on its own.
        try slow.receive { client in streams.allSatisfy { client.answers[$0]?.status == 200 } }
        more.open()
        let clients = try (0..<4).map { _ in try gateway.connect() }
        for client in clients { try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
        // All of them are there at once, each in the place of a stream.
        try upstream.waitForRequests(12)
        gate.open()
        for client in clients { #expect(try client.receive().status == 200) }
        _ = slow
    }

    @Test("a stream of an upstream in HTTP/2 whose client reads nothing makes room")
    func stream() throws {
        let chunk = [UInt8](repeating: 0x61, count: 16_000)
        let server = try ScriptedHTTP2Server { request, connection in
            guard request.path == "/large" else { return try connection.respond(to: request) }
            try connection.send(
                .headers(request.stream, [(":status", "200")], endStream: false))
            for _ in 0..<4 { try connection.send(.data(request.stream, chunk, endStream: false)) }
        }
        let more = ", connections_max: 1, http2: { concurrent_streams: 1, stream_window: 64KiB }"
        var configuration = GatewayConfiguration.http2Upstream(port: server.port, more: more)
        configuration.more = [Self.patience, "limits: { response_buffer: 16KiB }"]
        let gateway = try GatewayProcess(configuration)
        let slow = try HTTP2Client(port: gateway.port, settings: [(4, 0)])
        try slow.request(1, "GET", "/large")
        try server.wait()
        let client = try gateway.connect()
        var status = 503
        try repeatWhile(status == 503) { status = try client.exchange("GET", "/").status }
        #expect(status == 200)
        #expect(try slow.answer(1).resetCode == 2)
        #expect(server.connectionCount == 1)
    }

    @Test("whose streamed body comes a byte at a time makes room too", arguments: [1, 2])
    func slowUpload(version: Int) throws {
        let route = ["request_body: stream"]
        let gateway = try GatewayProcess(configuration(connectionCountMax: 1, route: route))
        let two = version == 2 ? try HTTP2Client(port: gateway.port) : nil
        let one = version == 1 ? try gateway.connect() : nil
        try two?.send(
            .headers(1, HTTP2Client.head("POST"), endStream: false), .data(1, [1], endStream: false)
        )
        try one?.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\na")
        try upstream.waitForBytes(onConnection: 0) { !$0.isEmpty }
        let client = try gateway.connect()
        var status = 503
        try repeatWhile(status == 503) {
            status = try client.exchange("GET", "/").status
            // It may have been let go already.
            try? two?.send(.data(1, [1], endStream: false))
            try? one?.send("a")
        }
        #expect(status == 200)
        if let two { #expect(try two.answer(1).status == 408) }
        if let one { #expect(try one.receive().status == 408) }
        let line = try gateway.accessLine { $0["detail"]?.stringValue == "made_room" }
        #expect(line["reason"]?.stringValue == "request_timeout")
    }
}
