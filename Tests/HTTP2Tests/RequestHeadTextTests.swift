import Bytes
import HTTP2
import Testing

@Suite("The head of an HTTP/2 request")
struct RequestHeadTextTests {}

extension RequestHeadTextTests {
    private static let plain: [(String, String)] = [
        (":method", "GET"), (":scheme", "https"), (":authority", "api.example"), (":path", "/a?b"),
    ]

    /// The text; nil for a malformed request.
    private func text(
        _ fields: [(String, String)], hasBody: Bool = false, byteCountMax: Int = 4096
    ) -> String? {
        var head = RequestHeadText(limits: FieldSectionLimits(byteCountMax: byteCountMax))
        for (name, value) in fields {
            let (name, value) = (Array(name.utf8), Array(value.utf8))
            guard head.take(name: name.span, value: value.span) else { return nil }
        }
        var bytes: [UInt8] = []
        guard head.finish(hasBody: hasBody, into: &bytes) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("is that of the same HTTP/1.1 request")
    func plain() {
        #expect(
            text(Self.plain + [("x-a", "1"), ("accept", "*/*")])
                == "GET /a?b HTTP/1.1\r\nhost: api.example\r\nx-a: 1\r\naccept: */*\r\n\r\n")
    }

    @Test("has one cookie field for all pieces, at its end")
    func cookies() {
        #expect(
            text(Self.plain + [("cookie", "a=1"), ("x", "y"), ("cookie", "b=2")])?
                .hasSuffix("x: y\r\ncookie: a=1; b=2\r\n\r\n") == true)
    }

    @Test("says that a length is not known yet")
    func bodies() {
        #expect(text(Self.plain, hasBody: true)?.contains("transfer-encoding: chunked") == true)
        let known = text(Self.plain + [("content-length", "3")], hasBody: true)
        #expect(known?.contains("transfer-encoding") == false)
        #expect(known?.contains("content-length: 3\r\n") == true)
    }

    @Test("takes Host for a missing authority, and both where they agree")
    func host() {
        let bare = Self.plain.filter { $0.0 != ":authority" }
        #expect(text(bare + [("host", "a.b")])?.contains("\r\nhost: a.b\r\n") == true)
        #expect(text(Self.plain + [("host", "API.example")]) != nil)
        #expect(text(Self.plain + [("host", "other.example")]) == nil)
        #expect(text(bare)?.contains("host") == false)
    }

    @Test("keeps te for who takes trailers, and the methods that are no use to the parser's words")
    func words() {
        #expect(text(Self.plain + [("te", "trailers")])?.contains("te: trailers\r\n") == true)
        #expect(text(Self.plain + [("te", "gzip")]) == nil)
        #expect(
            text([(":method", "CONNECT"), (":authority", "a:1")]) == "CONNECT * HTTP/1.1\r\n\r\n")
    }

    static let malformed: [[(String, String)]] =
        [
            [(":path", "/x")], [("X-Upper", "1")], [("", "1")], [("a b", "1")], [("a:", "1")],
            [("a\r\n", "1")], [("a", "1\r\nb: 2")], [("a", "\n")], [("a", "\r")],
            [("a", "\u{0}")], [("a", "\u{7F}")], [("a", " 1")], [("a", "1\t")],
            [("connection", "close")], [("connection", "x-a")], [("keep-alive", "1")],
            [("proxy-connection", "close")], [("transfer-encoding", "chunked")],
            [("upgrade", "h2c")], [("http2-settings", "AA")], [("te", "gzip")],
            [("te", "trailers, gzip")], [("host", "a"), ("host", "a")],
            [("content-length", "1"), ("content-length", "1")], [(":unknown", "1")],
            [(":status", "200")], [(":protocol", "websocket")], [("x", "1"), (":path", "/")],
        ].map { plain + $0 }
        + [
            plain.filter { $0.0 != ":method" }, plain.filter { $0.0 != ":scheme" },
            plain.filter { $0.0 != ":path" }, [],
        ]
        + [
            (":path", ""), (":path", "a"), (":path", "http://a/b"), (":path", "/a b"),
            (":path", "/a HTTP/1.1\r\nx: y"), (":path", "/\u{E9}"), (":method", "G ET"),
            (":method", ""), (":method", "GET / HTTP/1.1\r\n"), (":authority", "a\r\nx: y"),
            (":authority", "a b"), (":scheme", "ftp"), (":scheme", "HTTP"), (":scheme", ""),
        ].map { changed in plain.map { $0.0 == changed.0 ? changed : $0 } }

    @Test("is none where the request is malformed", arguments: malformed)
    func isNone(fields: [(String, String)]) {
        #expect(text(fields) == nil)
    }

    @Test("takes the same bytes of a word or value wherever they stand", arguments: 0...255)
    func bytes(byte: UInt8) {
        for count in [1, 7, 8, 9, 16, 19] {
            for index in 0..<count {
                var value = [UInt8](repeating: 0x61, count: count)
                value[index] = byte
                let isEnd = index == 0 || index == count - 1
                let isSpace = byte == 0x20 || byte == 0x09
                #expect(takes("x", value) == (isSpace ? !isEnd : byte >= 0x20 && byte != 0x7F))
                #expect(takes(":authority", value) == (byte > 0x20 && byte < 0x7F))
            }
        }
    }

    private func takes(_ name: String, _ value: [UInt8]) -> Bool {
        var head = RequestHeadText(limits: FieldSectionLimits(byteCountMax: 4096))
        let name = Array(name.utf8)
        return head.take(name: name.span, value: value.span)
    }

    @Test("stops growing at its limit, and tells a bomb")
    func limits() {
        var head = RequestHeadText(limits: FieldSectionLimits(byteCountMax: 200))
        let (name, value) = (Array("x".utf8), [UInt8](repeating: 0x61, count: 67))
        for index in 1...2 {
            let isWell = head.take(name: name.span, value: value.span)
            #expect(isWell && !head.isTooLarge, "\(index)")
        }
        for index in 3...8 {
            let isWell = head.take(name: name.span, value: value.span)
            #expect(isWell && head.isTooLarge && !head.isBomb, "\(index)")
        }
        let isWell = head.take(name: name.span, value: value.span)
        #expect(isWell && head.isBomb)
        head.reset()
        #expect(!head.isTooLarge && !head.isBomb)
    }
}
