import HTTP
import Questions
import Testing

/// The head that is made of a request which somebody describes.
@Suite("An asked request")
struct AskedRequestTests {}

extension AskedRequestTests {
    private func asked(
        _ method: String = "GET", _ target: String = "/x", host: String = "a",
        fields: [(String, String)] = []
    ) -> AskedRequest {
        var asked = AskedRequest(
            method: Array(method.utf8), target: Array(target.utf8), host: Array(host.utf8))
        asked.fields = fields.map {
            AskedRequest.Field(name: Array($0.0.utf8), value: Array($0.1.utf8))
        }
        return asked
    }

    private func text(_ asked: AskedRequest) -> String? {
        asked.head(version: .http11).map { String(decoding: $0.text, as: UTF8.self) }
    }

    @Test("becomes one head, without what is about a connection or framing")
    func head() {
        let fields = [
            ("Accept", "a\tb"), ("content-length", "1"), ("Transfer-Encoding", "chunked"),
            ("HOST", "b"), ("Connection", "close"), ("TE", "trailers"), ("Empty", ""),
        ]
        let request = asked("GET", "/x?y=1", fields: fields)
        #expect(
            text(request) == "GET /x?y=1 HTTP/1.1\r\nHost: a\r\nAccept: a\tb\r\nEmpty: \r\n\r\n")
        #expect(request.head(version: .http11)?.fieldCount == 3)
    }

    @Test("is refused where a part would be more than that part")
    func parts() {
        let words = ["", " ", "a b", "a\r\nb", "a\u{0}", "a\u{7F}", "a\tb"]
        for word in words {
            #expect(text(asked(word)) == nil && text(asked("GET", word)) == nil, "\(word)")
            #expect(
                text(asked(host: word)) == nil && text(asked(fields: [(word, "1")])) == nil,
                "\(word)")
        }
        for value in ["\r\nB: 1", "\n", "\u{0}", "\u{1B}", "\u{7F}"] {
            #expect(text(asked(fields: [("A", value)])) == nil, "\(value)")
        }
        #expect(
            text(asked(fields: [("A:", "1")])) == nil && text(asked(fields: [("A: b", "1")])) == nil
        )
    }

    @Test("says whether there may be a body")
    func body() {
        #expect(asked("GET").mayHaveBody == false && asked("POST").mayHaveBody == true)
        #expect(asked("get").mayHaveBody == true && asked("DELETE").mayHaveBody == true)
        let none = [("content-length", "0")]
        #expect(asked("POST", fields: none).mayHaveBody == false)
        #expect(asked("GET", fields: [("Content-Length", "1")]).mayHaveBody == true)
        #expect(asked("GET", fields: none + [("transfer-encoding", "chunked")]).mayHaveBody == true)
        #expect(asked("GET", fields: none + none).mayHaveBody == false)
        for value in ["", "x", "-1", "1,1", "99999999999999999999"] {
            #expect(
                asked("GET", fields: [("Content-Length", value)]).mayHaveBody == nil, "\(value)")
        }
        #expect(asked("GET", fields: none + [("Content-Length", "1")]).mayHaveBody == nil)
    }
}
