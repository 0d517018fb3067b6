import Bytes
import HTTP
import Testing

@Suite("A trailer section")
struct TrailerSectionTests {}

extension TrailerSectionTests {
    private func parse(_ text: String) throws(HTTPFault) -> TrailerSection {
        try TrailerSection(parsing: Array(text.utf8))
    }

    @Test("holds fields as ranges of its bytes")
    func fields() throws {
        let section = try parse("a: 1\r\nB-C:2\r\n\r\n")
        let bytes = section.bytes
        let names = section.fields.map { Array(bytes[Int($0.name.start)..<Int($0.name.end)]) }
        #expect(names == [Array("a".utf8), Array("B-C".utf8)])
    }

    @Test(
        "is refused like the lines of a head, and where it frames or routes the message",
        arguments: [
            ("", HTTPFault.fieldWithoutColon), ("a: 1\r\n", .fieldWithoutColon),
            ("a: 1\r\n\r\nb", .fieldWithoutColon), ("a: 1\n\n", .bareLineFeed),
            ("a b: 1\r\n\r\n", .spaceBeforeColon), (" a: 1\r\n\r\n", .obsoleteFold),
            ("Host: a\r\n\r\n", .trailerForbidden),
            ("transfer_encoding: a\r\n\r\n", .trailerForbidden),
            ("Content-Length: 1\r\n\r\n", .trailerForbidden),
            (String(repeating: "a: 1\r\n", count: 33) + "\r\n", .trailersTooLarge),
            ("a: " + String(repeating: "b", count: 9000) + "\r\n\r\n", .trailersTooLarge),
        ])
    func refused(text: String, fault: HTTPFault) {
        #expect(throws: fault) { try parse(text) }
    }

    @Test("passes on what means something there")
    func mayTrail() {
        #expect(KnownField.other.mayTrail && KnownField.eTag.mayTrail)
        let late: [KnownField] = [
            .host, .te, .authorization, .cookie, .contentType, .location, .xForwardedFor,
            .xRequestID, .expect, .xHTTPMethod, .cacheControl,
        ]
        #expect(late.allSatisfy { !$0.mayTrail })
    }

    @Test("TE says whether it is wanted")
    func wanted() {
        for (value, isWanted) in [
            ("trailers", true), ("gzip, Trailers", true), ("trailers;q=0.5", false), ("", false),
            ("gzip", false), ("xtrailers", false),
        ] {
            var head = RequestHead()
            let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nTE: \(value)\r\n\r\n".utf8)
            let outcome = head.parse(bytes.span, limits: testLimits)
            #expect(outcome == .complete && head.takesTrailers(in: bytes.span) == isWanted)
        }
    }
}
