import JSON
import Testing

@Suite("JSONEventScanner")
struct JSONEventScannerTests {}

extension JSONEventScannerTests {
    private static let pointers = ["/usage/total", "/n"].compactMap { JSONPointer($0) }

    /// The numbers that are found if the text comes in pieces that end at `ends`.
    private func numbers(_ bytes: [UInt8], cutAt ends: [Int] = []) -> [UInt64?] {
        var scanner = JSONEventScanner(Self.pointers)
        var start = 0
        for end in ends + [bytes.count] {
            scanner.feed(bytes.span.extracting(start..<end))
            start = end
        }
        return scanner.finish().map { $0?.unsignedInteger }
    }

    private static let streams: [(text: String, numbers: [UInt64?])] = [
        ("", [nil, nil]),
        ("data: {\"n\":1}\n\n", [nil, 1]),
        ("data:{\"n\":1}\r\rdata: {\"n\":2}\r\n\r\ndata:  {\"n\":3}\n\n", [nil, 3]),
        // The last event that has a number decides, for each pointer.
        (
            "data: {\"usage\":{\"total\":7},\"n\":1}\n\ndata: {\"usage\":null,\"n\":2}\n\n"
                + "data: [DONE]\n\n",
            [7, 2]
        ),
        // Comments, other fields, and names that only begin like data.
        (
            ": {\"n\":1}\nevent: x\nid: 5\nretry: 10\ndatas: {\"n\":2}\ndat: {\"n\":3}\n"
                + " data: {\"n\":4}\nData: {\"n\":5}\n\n",
            [nil, nil]
        ),
        // The lines of one event are one text.
        ("data: {\"usage\":\ndata: {\"total\"\ndata\ndata::8}}\n\n", [8, nil]),
        ("data: {\"usage\":\ndata: {\"total\":\ndata\ndata:8}}\n\n", [8, nil]),
        ("data: {\"n\":1}\ndata: {\"n\":2}\n\n", [nil, nil]),
        ("data: {\"n\":1\ndata: 2}\n\n", [nil, nil]),
        // A byte order mark at the start only.
        ("\u{FEFF}data: {\"n\":1}\n\n", [nil, 1]),
        ("\n\u{FEFF}data: {\"n\":1}\n\n", [nil, nil]),
        // Without the last empty line.
        ("data: {\"n\":1}\n\ndata: {\"n\":2}", [nil, 2]),
        ("data: {\"n\":1}\n\ndata: {\"n\":2", [nil, 1]),
        // What is no number changes nothing; nor does a member that comes twice.
        ("data: {\"n\":4}\n\ndata: {\"n\":\"5\"}\n\ndata: {\"n\":6,\"n\":7}\n\n", [nil, 4]),
        ("data: {\"n\":12.0}\n\ndata: {\"usage\":{\"total\":1e3}}\n\n", [1000, 12]),
        // Nested, and escaped.
        ("data: {\"a\":{\"n\":1},\"usage\":[{\"total\":2}]}\n\n", [nil, nil]),
        ("data: {\"\\u006e\":3, \"s\":\"\\n\\ndata: {}\"}\n\n", [nil, 3]),
    ]

    @Test("finds the numbers of events, wherever the bytes are cut")
    func everyCut() {
        for (text, expected) in Self.streams {
            let bytes = Array(text.utf8)
            #expect(numbers(bytes) == expected, "\(text)")
            for cut in bytes.indices {
                #expect(numbers(bytes, cutAt: [cut]) == expected, "\(text) cut at \(cut)")
            }
            #expect(numbers(bytes, cutAt: Array(bytes.indices)) == expected, "\(text) in bytes")
        }
    }

    @Test("never counts less when more of a stream has come")
    func everyPrefix() {
        let text = (1...3).map { "data: {\"usage\":{\"total\":\($0)}}\r\n\r\n" }.joined()
        let bytes = Array(text.utf8)
        var last: UInt64 = 0
        for end in 0...bytes.count {
            let found = numbers(Array(bytes[..<end]))[0] ?? 0
            #expect(found >= last)
            last = found
        }
        #expect(last == 3)
    }
}
