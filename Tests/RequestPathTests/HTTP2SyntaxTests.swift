import GatewayTesting
import JSON
import Testing

// RFC 9113 section 8, from the side of those who break it: what HTTP/2 can carry and HTTP/1.1
// would read as something else.
@Suite("An HTTP/2 request's syntax", .enabled(if: BuiltProgram.isBuilt))
struct HTTP2SyntaxTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        upstream = try RecordingUpstream()
        gateway = try GatewayProcess(.http2(upstreamPort: upstream.port))
    }
}

extension HTTP2SyntaxTests {
    typealias Fields = [(String, String)]

    /// The usual fields, with `changed` in the place of theirs and `more` behind.
    private static func head(_ changed: Fields, _ more: Fields = []) -> Fields {
        HTTP2Client.head("POST").map { field in
            changed.first { $0.0 == field.0 } ?? field
        } + more
    }

    private static let smuggled = "1\r\nContent-Length: 0\r\n\r\nGET /smuggled HTTP/1.1\r\nX: y"

    /// Malformed by RFC 9113 section 8.1.1: the stream ends with PROTOCOL_ERROR.
    static let malformed: [Fields] =
        [
            ("x-a", "1\r\nx-b: 2"), ("x-a", "1\nx-b: 2"), ("x-a", "1\rx-b: 2"),
            ("x-a", "\u{0}"), ("x-a", smuggled), ("x-a\r\nx-b", "1"), ("x-a: 1\r\nx-b", "2"),
            ("x a", "1"), ("x-a:", "1"), ("X-A", "1"), ("Content-Length", "0"), ("", "1"),
            ("x\u{E9}", "1"), ("x-a", " 1"), ("x-a", "1 "), ("x-a", "\t1"),
            ("connection", "close"), ("connection", "x-a"), ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"), ("transfer-encoding", "chunked"),
            ("transfer-encoding", "identity"), ("upgrade", "h2c"), ("http2-settings", "AA"),
            ("te", "gzip"), ("te", "trailers, deflate"), ("te", ""),
            ("host", "other.example"), ("host", "api.example\r\nx: y"), ("content-length", "-1"),
            ("content-length", "+1"), ("content-length", "0x1"), ("content-length", "1, 1"),
            ("content-length", ""), ("content-length", "99999999999999999999"),
            (":path", "/again"), (":authority", "again"), (":unknown", "1"), (":status", "200"),
            (":protocol", "websocket"), (":", "1"),
        ].map { head([], [$0]) }
        + [
            (":path", ""), (":path", "x"), (":path", "http://api.example/"),
            (":path", "/ HTTP/1.1\r\nX: y"), (":path", "/a b"), (":path", "/a\tb"),
            (":path", "/\r\n"), (":path", "/\u{0}"), (":path", "/\u{E9}"), (":method", ""),
            (":method", "GE T"), (":method", "GET /smuggled HTTP/1.1\r\nX:"), (":method", "G\n"),
            (":authority", "a\r\nX: y"), (":authority", "a b"), (":scheme", ""),
            (":scheme", "ftp"), (":scheme", "http\r\nx: y"), (":scheme", "http://other/"),
        ].map { head([$0]) }
        + [":method", ":scheme", ":path"].map { name in
            HTTP2Client.head("POST").filter { $0.0 != name }
        }
        + [
            [("x-a", "1")] + HTTP2Client.head(), [], [("x-a", "1")],
            head([], [("host", "api.example"), ("host", "api.example")]),
            head([], [("content-length", "1"), ("content-length", "1")]),
            head([], [("content-length", "1"), ("content-length", "2")]),
        ]

    @Test("malformed: the stream is reset, and nothing goes upstream")
    func areReset() throws {
        let client = try HTTP2Client(port: gateway.port)
        for (index, fields) in Self.malformed.enumerated() {
            let stream = UInt32(index * 2 + 1)
            try client.send(.headers(stream, fields))
            let answer = try client.answer(stream)
            #expect(answer.resetCode == 1, "\(fields) \(answer)")
            #expect(answer.status == 0, "\(fields)")
        }
        #expect(try client.exchange(1001, "GET", "/after").status == 200)
        #expect(upstream.requests.map(\.message.target) == ["/after"])
        let line = try gateway.accessLine { $0["detail"]?.stringValue == "http2_malformed" }
        #expect(line["reason"]?.stringValue == "bad_request")
    }

    /// Well-formed, and refused by the rules that hold for HTTP/1.1 too.
    static let refused: [Fields] = [
        head([(":authority", "user@api.example")]), head([(":authority", "a:b@api.example")]),
        head([(":authority", "")]), head([(":authority", "api.example:99999")]),
        head([(":authority", "api.example::")]), head([(":authority", "a/b")]),
        HTTP2Client.head().filter { $0.0 != ":authority" },
        head([(":path", "/a/%2e%2e/b")]), head([(":path", "/a\\b")]), head([(":path", "/%00")]),
        head([], [("transfer_encoding", "chunked")]), head([], [("content_length", "1")]),
        head([(":method", "get")]), head([(":path", "*")]),
    ]

    @Test("refused, and nothing goes upstream")
    func areRefused() throws {
        let client = try HTTP2Client(port: gateway.port)
        for (index, fields) in Self.refused.enumerated() {
            let stream = UInt32(index * 2 + 1)
            try client.send(.headers(stream, fields))
            let answer = try client.answer(stream)
            #expect(answer.status == 400 || answer.resetCode == 1, "\(fields)")
        }
        #expect(upstream.requests.isEmpty)
    }

    @Test("a body of another length than was announced")
    func lengths() throws {
        let client = try HTTP2Client(port: gateway.port)
        func head(_ length: String) -> Fields {
            HTTP2Client.head("POST", "/", [("content-length", length)])
        }
        try client.send(.headers(1, head("3")))
        #expect(try client.answer(1).resetCode == 1)
        try client.send(.headers(3, head("3"), endStream: false), .data(3, [1, 2]))
        #expect(try client.answer(3).resetCode == 1)
        try client.send(.headers(5, head("3"), endStream: false), .data(5, [1, 2, 3, 4]))
        #expect(try client.answer(5).resetCode == 1)
        try client.send(
            .headers(7, head("3"), endStream: false), .data(7, [1, 2], endStream: false),
            .headers(7, [("x", "y")]))
        #expect(try client.answer(7).resetCode == 1)
        try client.send(.headers(9, head("0"), endStream: false), .data(9, [1]))
        #expect(try client.answer(9).resetCode == 1)
        #expect(try client.exchange(11).status == 200)
        #expect(upstream.requests.count == 1)
    }

    @Test("trailers that are more than trailers")
    func trailers() throws {
        let client = try HTTP2Client(port: gateway.port)
        let cases: [Fields] = [
            [(":path", "/x")], [("connection", "close")], [("X", "1")],
            [("transfer-encoding", "chunked")],
        ]
        for (index, trailers) in cases.enumerated() {
            let stream = UInt32(index * 2 + 1)
            try client.send(
                .headers(stream, HTTP2Client.head("POST"), endStream: false),
                .data(stream, [1], endStream: false), .headers(stream, trailers))
            #expect(try client.answer(stream).resetCode == 1, "\(trailers)")
        }
        // Trailers that do not end the request.
        try client.send(
            .headers(101, HTTP2Client.head("POST"), endStream: false),
            .headers(101, [("x", "1")], endStream: false))
        #expect(try client.answer(101).resetCode == 1)
        #expect(upstream.requests.isEmpty)
    }

    @Test("what is not text passes as it is, or not at all")
    func bytes() throws {
        let client = try HTTP2Client(port: gateway.port)
        let plain = HTTP2Client.head().map { (Array($0.0.utf8), Array($0.1.utf8)) }
        try client.send(.headers(1, bytes: plain + [(Array("x-a".utf8), [0x61, 0xE9, 0xFF])]))
        #expect(try client.answer(1).status == 200)
        #expect(
            upstream.bytes(onConnection: 0).split(separator: 0x0A)
                .contains(Array("x-a: a".utf8)[...] + [0xE9, 0xFF, 0x0D]))
        for byte in (UInt8(0)...0x1F).filter({ $0 != 9 }) + [0x7F] {
            let stream = UInt32(byte) * 2 + 3
            try client.send(
                .headers(stream, bytes: plain + [(Array("x-a".utf8), [0x61, byte, 0x62])]))
            #expect(try client.answer(stream).resetCode == 1, "\(byte)")
        }
        #expect(upstream.requests.count == 1)
    }
}
