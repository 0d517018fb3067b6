import AppAttestTesting
import GatewayTesting
import JSON
import Testing

@Suite("Proxying", .enabled(if: BuiltProgram.isBuilt))
struct ProxyTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        upstream = try RecordingUpstream()
        gateway = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
    }
}

extension ProxyTests {
    /// A gateway with one short time-out, which must run out in the test: others could run out on
    /// a busy machine. `timeout` is one of clients, `response` the upstream's.
    private func impatient(
        _ timeout: String? = nil, response: String = "1m"
    ) throws -> GatewayProcess {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = timeout.map { ["timeouts: { \($0) }"] } ?? []
        configuration.upstreams["api"]? += ", response_timeout: \(response)"
        return try GatewayProcess(configuration)
    }

    // MARK: heads

    @Test("hop-by-hop fields end here, in both directions")
    func hopByHop() throws {
        upstream.answer { _ in
            .raw(
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: X-Up\r\nX-Up: 1\r\n"
                    + "Keep-Alive: timeout=1\r\nX-Stays: 1\r\n\r\n")
        }
        let answer = try gateway.exchange(
            "GET", "/",
            fields: [
                ("Connection", "x-hop, keep-alive"), ("X-Hop", "1"), ("Keep-Alive", "1"),
                ("TE", "trailers"), ("Upgrade", "h2c"), ("Proxy-Connection", "x"), ("X-Stays", "1"),
            ])
        let seen = try #require(upstream.requests.first)
        for name in ["X-Hop", "Keep-Alive", "Upgrade", "Proxy-Connection", "TE"] {
            #expect(seen[name] == nil, "\(name)")
        }
        #expect(seen["X-Stays"] == "1")
        #expect(answer["X-Up"] == nil)
        #expect(answer["Keep-Alive"] == nil)
        #expect(answer["X-Stays"] == "1")
    }

    @Test("nobody untrusted says who they are")
    func forwarding() throws {
        let spoofed = [
            ("X-Forwarded-For", "1.2.3.4"), ("Forwarded", "for=1.2.3.4"),
            ("X_Forwarded_For", "1.2.3.4"), ("X-Request-Id", "mine"), ("X-Real-IP", "1.2.3.4"),
        ]
        _ = try gateway.exchange("GET", "/", fields: spoofed)
        let seen = try #require(upstream.requests.first)
        #expect(seen["X-Forwarded-For"] == "127.0.0.1")
        #expect(seen["X-Forwarded-Proto"] == "http")
        #expect(!seen.message.fields.contains { $0.value.contains("1.2.3.4") })
        #expect(seen["X-Request-Id"] != "mine")
        #expect(seen["X-Request-Id"]?.isEmpty == false)
        var trusting = GatewayConfiguration(upstreamPort: upstream.port)
        trusting.listenerMore = ["trusted_proxies: [127.0.0.0/8]"]
        let behind = try GatewayProcess(trusting)
        _ = try behind.exchange("GET", "/", fields: spoofed)
        let trusted = upstream.requests[1]
        #expect(trusted["X-Forwarded-For"] == "1.2.3.4, 127.0.0.1")
        #expect(trusted["X-Request-Id"] == "mine")
    }

    // MARK: answers

    @Test("every kind of answer arrives as it was")
    func answers() throws {
        upstream.answer { request in
            switch request.target {
            case "/chunked": .chunked(["one", "two"], trailers: "X-T: 1\r\n")
            case "/close": .closeDelimited("until the end")
            case "/204": .raw("HTTP/1.1 204 No Content\r\nX: 1\r\n\r\n")
            case "/304": .raw("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n")
            case "/hints":
                .raw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
                    .followed(by: .response(body: "after hints"))
            case "/odd": .raw("HTTP/1.1 299\r\nContent-Length: 1\r\n\r\nx")
            default: .response(404, fields: [("X-A", "b")], body: "none")
            }
        }
        let client = try gateway.connect()
        #expect(try client.exchange("GET", "/chunked").bodyText == "onetwo")
        #expect(try client.exchange("GET", "/204").status == 204)
        #expect(try client.exchange("GET", "/304").status == 304)
        let hints = try client.exchange("GET", "/hints")
        #expect(hints.bodyText == "after hints")
        #expect(try client.exchange("GET", "/odd").status == 299)
        let missing = try client.exchange("GET", "/missing")
        #expect(missing.status == 404)
        #expect(missing["X-A"] == "b")
        #expect(missing.bodyText == "none")
        #expect(try client.exchange("GET", "/close").bodyText == "until the end")
    }

    @Test("HEAD gets the head that GET would get, and no body")
    func head() throws {
        upstream.answer { request in
            request.method == "HEAD"
                ? .raw("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n") : .response()
        }
        let client = try gateway.connect()
        let answer = try client.exchange("HEAD", "/")
        #expect(answer["Content-Length"] == "1234")
        #expect(try client.exchange("GET", "/").bodyText == "hello\n")
    }

    @Test("100-continue: the gateway asks for the body, the upstream gets it whole")
    func expectContinue() throws {
        let client = try gateway.connect()
        try client.send(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        #expect(try client.receiveAny().status == 100)
        try client.send("abc")
        #expect(try client.receiveAny().status == 200)
        let seen = try #require(upstream.requests.first)
        #expect(seen.body == Array("abc".utf8))
        #expect(seen["Expect"] == nil)
    }

    @Test("an answer that is not HTTP is 502, and is not passed on")
    func garbage() throws {
        let answers = [
            "garbage\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "HTTP/1.1 200 OK\nContent-Length: 0\n\n", "HTTP/1.1 20 OK\r\n\r\n", "",
            "HTTP/1.1 200 OK\r\nX: a\u{0}b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: 100_000))\r\n\r\n",
        ]
        upstream.answer { request in
            guard let index = Int(request.target.dropFirst()) else { return .response() }
            return .raw(answers[index], then: .close)
        }
        for index in answers.indices {
            let answer = try gateway.exchange("POST", "/\(index)")
            #expect(answer.outcome == "502 upstream_failed", "\(answers[index].prefix(40))")
        }
        #expect(try gateway.exchange("GET", "/well").status == 200)
    }

    @Test("an answer cut short is not mistaken for a whole one")
    func cutShort() throws {
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
        upstream.answer { .raw($0.target == "/length" ? whole : chunked, then: .close) }
        let length = try gateway.connect()
        try length.send("GET", "/length")
        #expect(try length.receiveHead()["Content-Length"] == "10")
        #expect(try length.receiveToEnd() == Array("abc".utf8))
        let chunks = try gateway.connect()
        try chunks.send("GET", "/chunks")
        _ = try chunks.receiveHead()
        let rest = String(decoding: try chunks.receiveToEnd(), as: UTF8.self)
        #expect(rest.contains("abc"))
        #expect(!rest.contains("0\r\n\r\n"))
    }

    // MARK: connections to the upstream

    /// Each worker has connections of its own.
    private func oneWorker() throws -> GatewayProcess {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.workers = 1
        return try GatewayProcess(configuration)
    }

    @Test("one upstream connection serves many clients in turn")
    func reuse() throws {
        let gateway = try oneWorker()
        for _ in 0..<5 { #expect(try gateway.exchange("GET", "/").status == 200) }
        #expect(upstream.connectionCount == 1)
    }

    @Test("a reused connection that died is replaced, once, where the request may be repeated")
    func retry() throws {
        let gateway = try oneWorker()
        _ = try gateway.exchange("GET", "/warm")
        upstream.answer { $0.connection == 0 ? .dies : .response(body: "second") }
        #expect(try gateway.exchange("GET", "/again").bodyText == "second")
        #expect(upstream.requests.map(\.target) == ["/warm", "/again", "/again"])
        upstream.answer { $0.connection == 1 ? .dies : .response(body: "third") }
        #expect(try gateway.exchange("POST", "/once").outcome == "502 upstream_failed")
        #expect(upstream.requests.filter { $0.target == "/once" }.count == 1)
    }

    @Test("a fresh connection that dies is not tried for ever")
    func dying() throws {
        upstream.answer { _ in .dies }
        #expect(try gateway.exchange("GET", "/").outcome == "502 upstream_failed")
        #expect(upstream.requests.count <= 2)
    }

    @Test("nobody listens: 502 at once")
    func refusedConnection() throws {
        let nowhere = try GatewayProcess(GatewayConfiguration(upstreamPort: FreePort.find()))
        let answer = try nowhere.exchange("GET", "/")
        #expect(answer.outcome == "502 upstream_failed")
        #expect(answer.action == "retry_later")
    }

    // MARK: time

    @Test("a slow upstream is 504")
    func slowUpstream() throws {
        let gateway = try impatient(response: "200ms")
        let gate = Gate()
        upstream.answer { _ in .response(after: gate) }
        let answer = try gateway.exchange("GET", "/")
        #expect(answer.outcome == "504 upstream_timeout")
        gate.open()
    }

    @Test("a slow head or body is 408, an idle connection is closed")
    func slowClient() throws {
        for (timeout, start) in [
            ("request_head: 200ms", "GET / HTT"),
            (
                "request_body: 200ms",
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na"
            ),
        ] {
            let gateway = try impatient(timeout)
            let slow = try gateway.connect()
            try slow.send(start)
            #expect(try slow.receive().status == 408)
        }
        let gateway = try impatient("idle: 200ms")
        let idle = try gateway.connect()
        #expect(try idle.exchange("GET", "/").status == 200)
        #expect(try idle.receiveToEnd().isEmpty)
    }

    @Test("a client that does not read makes the upstream wait, and is dropped in the end")
    func backPressure() throws {
        let gateway = try impatient("send: 1s")
        let byteCount = 256 * 1024 * 1024
        upstream.answer { _ in .large(byteCount: byteCount) }
        let before = try gateway.residentByteCount()
        let client = try gateway.connect(receiveBufferByteCount: 4096)
        try client.send("GET", "/")
        #expect(try client.receiveHead()["Content-Length"] == "\(byteCount)")
        // The send timeout passes; only then does the gateway close on the upstream too.
        try upstream.waitForClose(ofConnection: 0)
        #expect(try gateway.residentByteCount() - before < 20 * 1024 * 1024)
    }

    @Test("a large answer streams through without being kept")
    func streaming() throws {
        let byteCount = 64 * 1024 * 1024
        upstream.answer { _ in .response() }
        _ = try gateway.exchange("GET", "/")
        upstream.answer { _ in .large(byteCount: byteCount) }
        let before = try gateway.residentByteCount()
        let client = try gateway.connect()
        try client.send("GET", "/")
        _ = try client.receiveHead()
        try client.discardBytes(byteCount)
        #expect(try gateway.residentByteCount() - before < 20 * 1024 * 1024)
    }

    @Test("a signed body goes on as it came: with the head, from memory, from a file, in pieces")
    func heldBodies() throws {
        let kibibyte = 1024
        // Made before anybody connects: a sanitizer needs longer for it than a client may be idle.
        let content = (0..<16 * kibibyte * kibibyte).map {
            UInt8(truncatingIfNeeded: $0 &* 31 >> 3)
        }
        for (limits, byteCounts) in [
            // Beside each place where the defaults keep it differently.
            (
                "body: 1MiB",
                [0]
                    + [1, 16, 64, 256].flatMap { count in
                        [-1, 0, 1].map { count * kibibyte + $0 }
                    }
            ),
            // More at once than the kernel takes.
            ("body: 16MiB, body_memory: 16MiB", [content.count]),
        ] {
            var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
            configuration.more = ["limits: { \(limits) }"]
            let client = try SimulatedClient.enrolled(GatewayProcess(configuration))
            for byteCount in byteCounts {
                let body = Array(content.prefix(byteCount))
                #expect(try client.request("POST", "/api/x", body: body).status == 200)
                let isSame = upstream.requests.last?.body == body
                #expect(isSame, "\(byteCount) bytes")
            }
        }
    }

    @Test("a client that goes away takes its upstream connection with it")
    func clientGone() throws {
        let gateway = try impatient(response: "500ms")
        let gate = Gate()
        upstream.answer { _ in .response(after: gate) }
        let client = try gateway.connect()
        try client.send("GET", "/")
        try upstream.waitForRequests(1)
        client.socket.reset()
        // At once, or when the upstream's time is up: in any case one line, and nothing is left.
        let line = try gateway.accessLine()
        #expect(["client_closed", "upstream_timeout"].contains(line["reason"]?.stringValue ?? ""))
        gate.open()
        try upstream.waitForClose(ofConnection: 0)
    }
}
