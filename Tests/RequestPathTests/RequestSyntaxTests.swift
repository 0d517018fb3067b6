import GatewayTesting
import Testing

// RFC 9112, from the side of those who break it. Most of these requests read differently to
// different servers: that is what makes them dangerous.
@Suite("A request's syntax", .enabled(if: BuiltProgram.isBuilt))
struct RequestSyntaxTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        upstream = try RecordingUpstream()
        gateway = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
    }
}

extension RequestSyntaxTests {
    /// The status that a request is refused with; the connection must end with it.
    private func refusal(_ request: String) throws -> Int {
        let client = try gateway.connect()
        try client.send(request)
        client.socket.shutdownSending()
        let answer = try client.receive()
        #expect(try client.receiveToEnd().isEmpty, "one answer, then the end")
        return answer.status
    }

    static let refused: [(String, Int)] = [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        ("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: a\n\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\nY: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX : a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \u{0}\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
        ("GET /\r\n\r\n", 400),
        ("G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        ("GET / HTTP/1.9\r\nHost: a\r\n\r\n", 505),
        ("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "0\r\n\r\n", 400
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
            400
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab0\r\n\r\n", 400),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "fffffffffffffffff\r\n", 400
        ),
        ("GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}\r\n\r\n", 400),
        ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /\u{7f} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /a\\b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET /" + String(repeating: "a", count: 9000) + " HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 40_000)
                + "\r\n\r\n", 431
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: a\r\n", count: 120) + "\r\n",
            431
        ),
    ]

    @Test("is refused with the right status, before the upstream hears of it")
    func refusals() throws {
        for (request, status) in Self.refused {
            let label = String(reflecting: String(request.prefix(90)))
            #expect(try refusal(request) == status, "\(label)")
        }
        #expect(upstream.connectionCount == 0)
        #expect(gateway.alarms.isEmpty)
        #expect(try gateway.exchange("GET", "/").status == 200)
    }

    @Test("is the same however it is cut into packets")
    func pieces() throws {
        let request =
            "POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "3;ext=\"a;b\"\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n"
        let client = try gateway.connect()
        for byte in request.utf8 { try client.send([byte]) }
        #expect(try client.receive().status == 200)
        let seen = try #require(upstream.requests.first)
        #expect(seen.body == Array("abcde".utf8))
        #expect(seen["Content-Length"] == "5")
        #expect(seen["Transfer-Encoding"] == nil)
    }

    @Test("may be absolute-form, which becomes the origin form")
    func absoluteForm() throws {
        let client = try gateway.connect()
        try client.send("GET http://api.example/x?y HTTP/1.1\r\nHost: api.example\r\n\r\n")
        #expect(try client.receive().status == 200)
        #expect(upstream.requests.first?.message.startLine == "GET /x?y HTTP/1.1")
        #expect(upstream.requests.first?["Host"] == "api.example")
    }

    @Test("may come from HTTP/1.0, which gets an answer it can read")
    func version10() throws {
        upstream.answer { _ in .chunked(["abc", "def"]) }
        let client = try gateway.connect()
        try client.send("GET / HTTP/1.0\r\n\r\n")
        let answer = try client.receive()
        #expect(answer.status == 200)
        #expect(answer["Transfer-Encoding"] == nil)
        #expect(answer.bodyText == "abcdef")
        #expect(try client.receiveToEnd().isEmpty)
    }

    @Test("ends the connection where it is asked to, and only there")
    func persistence() throws {
        let kept = try gateway.connect()
        for _ in 0..<3 { #expect(try kept.exchange("GET", "/").status == 200) }
        let closing = try kept.exchange("GET", "/", fields: [("Connection", "close")])
        #expect(closing["Connection"]?.lowercased() == "close")
        #expect(try kept.receiveToEnd().isEmpty)
        let old = try gateway.connect()
        try old.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(try old.receive().status == 200)
    }

    @Test("may come in a row without waiting for answers, which keep the order")
    func pipelining() throws {
        let slow = Gate()
        upstream.answer { request in
            request.target == "/0"
                ? .response(after: slow, body: request.target) : .response(body: request.target)
        }
        let client = try gateway.connect()
        let requests = (0..<5).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined()
        try client.send(requests + "GET /bad HTTP/1.1\r\n\r\n")
        try upstream.waitForRequests(1)
        slow.open()
        for index in 0..<5 { #expect(try client.receive().bodyText == "/\(index)") }
        #expect(try client.receive().status == 400)
        #expect(try client.receiveToEnd().isEmpty)
    }

    @Test("may end its sending side and still be answered")
    func halfClose() throws {
        let gate = Gate()
        upstream.answer { _ in .response(after: gate) }
        let more = ["on_client_close: finish"]
        let gateway = try GatewayProcess(
            GatewayConfiguration(
                upstreamPort: upstream.port, routes: [.init("all", path: "/*", more: more)]))
        let client = try gateway.connect()
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        client.socket.shutdownSending()
        try upstream.waitForRequests(1)
        gate.open()
        #expect(try client.receive().status == 200)
    }
}
