import Bytes
import HTTP
import Testing

@testable import Gateway

@Suite("Body readers")
struct BodyReaderTests {}

extension BodyReaderTests {
    private static let chunked =
        "4;a=\"b\"\r\nWiki\r\n005\r\npedia\r\n0\r\nX-Trailer: y\r\n\r\nrest"

    /// Feeds `text` in two pieces; gives the content, and what was not the body's.
    private func readRequest(
        _ framing: BodyFraming, _ text: String, splitAt split: Int
    ) -> (body: String, rest: String, isComplete: Bool) {
        var reader = RequestBodyReader(begun: framing)
        var input = ByteBuffer()
        var body: [UInt8] = []
        let bytes = Array(text.utf8)
        for piece in [bytes[..<split], bytes[split...]] {
            input.append(Array(piece))
            reading: while !reader.isComplete, !input.isEmpty {
                switch reader.next(input.readable) {
                case .data(let skip, let count, let isLast):
                    input.consume(skip)
                    body += input.readable.extracting(0..<count).array
                    input.consume(count)
                    #expect(isLast == reader.isComplete)
                case .ended(let consumed): input.consume(consumed)
                case .needsMore(let consumed):
                    input.consume(consumed)
                    break reading
                case .malformed(let fault):
                    Issue.record("\(fault)")
                    break reading
                }
            }
        }
        let rest = input.readable.array
        return (
            String(decoding: body, as: UTF8.self), String(decoding: rest, as: UTF8.self),
            reader.isComplete
        )
    }

    private func readResponse(
        _ framing: BodyFraming, _ text: String, splitAt split: Int
    ) -> (body: String, rest: String, hasEnded: Bool) {
        var reader = ResponseBodyReader(begun: framing)
        var input = ByteBuffer()
        var body: [UInt8] = []
        var hasEnded = false
        let bytes = Array(text.utf8)
        for piece in [bytes[..<split], bytes[split...]] {
            input.append(Array(piece))
            reading: while !hasEnded {
                switch reader.next(input.readable) {
                case .data(let skip, let count):
                    input.consume(skip)
                    body += input.readable.extracting(0..<count).array
                    input.consume(count)
                case .ended(let consumed):
                    input.consume(consumed)
                    hasEnded = true
                case .needsMore(let consumed):
                    input.consume(consumed)
                    break reading
                case .malformed(let fault):
                    Issue.record("\(fault)")
                    break reading
                }
            }
        }
        let rest = input.readable.array
        return (
            String(decoding: body, as: UTF8.self), String(decoding: rest, as: UTF8.self), hasEnded
        )
    }

    @Test("find the end of a request's body at every split")
    func requests() {
        for split in 0...Self.chunked.utf8.count {
            let read = readRequest(.chunked, Self.chunked, splitAt: split)
            #expect(read == ("Wikipedia", "rest", true), "at \(split)")
        }
        for split in 0...9 {
            let read = readRequest(.length(5), "helloGET ", splitAt: split)
            #expect(read == ("hello", "GET ", true), "at \(split)")
            let short = readRequest(.length(10), "helloGET ", splitAt: split)
            #expect(short == ("helloGET ", "", false))
        }
        for framing in [BodyFraming.none, .length(0), .untilClose] {
            #expect(readRequest(framing, "GET ", splitAt: 2) == ("", "GET ", true))
        }
    }

    @Test("find the end of an answer's body at every split")
    func responses() {
        for split in 0...Self.chunked.utf8.count {
            let read = readResponse(.chunked, Self.chunked, splitAt: split)
            #expect(read == ("Wikipedia", "rest", true), "at \(split)")
        }
        for split in 0...9 {
            let read = readResponse(.length(5), "helloHTTP", splitAt: split)
            #expect(read == ("hello", "HTTP", true), "at \(split)")
            #expect(readResponse(.length(10), "helloHTTP", splitAt: split).hasEnded == false)
            let open = readResponse(.untilClose, "helloHTTP", splitAt: split)
            #expect(open == ("helloHTTP", "", false))
            #expect(readResponse(.none, "HTTP/1.1 ", splitAt: split) == ("", "HTTP/1.1 ", true))
        }
        #expect(ResponseBodyReader(begun: .untilClose).endsAtClose)
        #expect(!ResponseBodyReader(begun: .chunked).endsAtClose)
    }

    @Test("tell how much is left where that is known, and take the longest length")
    func remaining() {
        #expect(RequestBodyReader(begun: .length(5)).remainingByteCount == 5)
        #expect(RequestBodyReader(begun: .length(UInt64(Int64.max))).remainingByteCount == Int.max)
        #expect(RequestBodyReader(begun: .length(.max)).remainingByteCount == nil)
        #expect(RequestBodyReader(begun: .chunked).remainingByteCount == nil)
        #expect(RequestBodyReader().remainingByteCount == 0)
        let read = readRequest(.length(.max), "hello", splitAt: 2)
        #expect(read == ("hello", "", false))
        #expect(readResponse(.length(.max), "hello", splitAt: 2) == ("hello", "", false))
    }

    @Test(
        "refuse what is no chunk",
        arguments: ["g\r\n", "5\n", "-1\r\n", "\r\n", "fffffffffffffffff"])
    func malformed(text: String) {
        var request = RequestBodyReader(begun: .chunked)
        var response = ResponseBodyReader(begun: .chunked)
        let bytes = Array(text.utf8)
        guard case .malformed = request.next(bytes.span) else {
            Issue.record("taken as a request's")
            return
        }
        guard case .malformed = response.next(bytes.span) else {
            Issue.record("taken as an answer's")
            return
        }
    }
}

extension RequestBodyReader {
    fileprivate init(begun framing: BodyFraming) {
        self.init()
        begin(framing)
    }
}

extension ResponseBodyReader {
    fileprivate init(begun framing: BodyFraming) {
        self.init()
        begin(framing)
    }
}
