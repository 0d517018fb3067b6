import Bytes
import HTTP
import Testing

/// What a decoder made of a body that arrives in pieces.
private struct Decoded: Equatable {
    var data: [UInt8] = []
    /// Bytes of the message up to its end; nil when it did not end.
    var byteCount: Int?
    var fault: HTTPFault?
    var trailers: [String] = []
}

private func decode(
    _ message: [UInt8], pieceByteCount: Int = .max, limits: ChunkedLimits = ChunkedLimits()
) -> Decoded {
    var decoder = ChunkedDecoder(limits: limits)
    var decoded = Decoded()
    var start = 0
    var available = min(pieceByteCount, message.count)
    while true {
        let input = message.span.extracting(start..<available)
        switch decoder.decode(input) {
        case .data(let skip, let count):
            #expect(count > 0 && skip + count <= input.count)
            decoded.data += message[(start + skip)..<(start + skip + count)]
            start += skip + count
        case .needMore(let consumed):
            #expect(consumed <= input.count)
            start += consumed
            guard available < message.count else { return decoded }
            available = min(message.count, available + pieceByteCount)
        case .finished(let consumed):
            decoded.byteCount = start + consumed
            for trailer in decoder.trailers {
                let name = decoder.trailerBytes[trailer.name.offsets]
                let value = decoder.trailerBytes[trailer.value.offsets]
                decoded.trailers.append(String(decoding: name + [0x3D] + value, as: UTF8.self))
            }
            return decoded
        case .refused(let fault):
            decoded.fault = fault
            return decoded
        }
    }
}

private func step(_ input: [UInt8], _ decoder: inout ChunkedDecoder) -> ChunkedStep {
    decoder.decode(input.span)
}

private let valid: [(message: String, data: String, trailers: [String])] = [
    ("0\r\n\r\n", "", []),
    ("5\r\nhello\r\n0\r\n\r\n", "hello", []),
    ("5\r\nhello\r\n00000006\r\n world\r\n000\r\n\r\n", "hello world", []),
    (
        "A\r\n0123456789\r\na\r\n\r\n\r\n\r\n\r\n\r\n\r\n0\r\n\r\n",
        "0123456789\r\n\r\n\r\n\r\n\r\n", []
    ),
    ("1;a\r\nx\r\n1;b=c;d=\"e\\\"; \\\\\"\r\ny\r\n0;z=1\r\n\r\n", "xy", []),
    ("1 ;a\r\nx\r\n1\t ; a = b ; c\t=\t\"d\" ;e\r\ny\r\n0 ; z\r\n\r\n", "xy", []),
    ("1\r\nx\r\n0\r\nDigest: abc\r\nX-T:  1 \r\n\r\n", "x", ["Digest=abc", "X-T=1"]),
]

private let malformed: [(String, HTTPFault)] = [
    ("\r\n", .chunkSizeInvalid),
    ("\n", .bareLineFeed),
    ("x\r\n", .chunkSizeInvalid),
    (" 1\r\nx\r\n", .chunkSizeInvalid),
    ("1 \r\nx\r\n", .chunkSizeInvalid),
    ("1\t\r\nx\r\n", .chunkSizeInvalid),
    ("1 2;a\r\nx\r\n", .chunkSizeInvalid),
    ("1 \nx\r\n", .bareLineFeed),
    ("1; \r\nx\r\n", .chunkExtensionInvalid),
    ("1;a \r\nx\r\n", .chunkExtensionInvalid),
    ("1;a= \r\nx\r\n", .chunkExtensionInvalid),
    ("1;a=b \r\nx\r\n", .chunkExtensionInvalid),
    ("1;a=\"b\" \r\nx\r\n", .chunkExtensionInvalid),
    ("1;a=b \nx\r\n", .bareLineFeed),
    ("1;a =b c\r\nx\r\n", .chunkExtensionInvalid),
    ("+1\r\nx\r\n", .chunkSizeInvalid),
    ("-1\r\nx\r\n", .chunkSizeInvalid),
    ("0x1\r\nx\r\n", .chunkSizeInvalid),
    ("1_0\r\nx\r\n", .chunkSizeInvalid),
    (";a\r\n", .chunkSizeInvalid),
    ("1\nx\r\n", .bareLineFeed),
    ("1\rx\r\n", .bareCarriageReturn),
    ("1\r\nx\n0\r\n\r\n", .bareLineFeed),
    ("1\r\nx\rx", .bareCarriageReturn),
    ("1\r\nxy\r\n", .chunkEndInvalid),
    ("2\r\nx\r\n0\r\n\r\n", .bareLineFeed),
    ("8000000000000000\r\n", .chunkSizeTooLarge),
    ("FFFFFFFFFFFFFFFF\r\n", .chunkSizeTooLarge),
    ("00000000000000001\r\n", .chunkSizeTooLarge),
    ("1;\r\nx\r\n", .chunkExtensionInvalid),
    ("1;;a\r\nx\r\n", .chunkExtensionInvalid),
    ("1;=a\r\nx\r\n", .chunkExtensionInvalid),
    ("1;a=\r\nx\r\n", .chunkExtensionInvalid),
    ("1;a b\r\nx\r\n", .chunkExtensionInvalid),
    ("1;a=b=c\r\nx\r\n", .chunkExtensionInvalid),
    ("1;a=\"b\r\nx\r\n", .chunkExtensionInvalid),
    ("1;a=\"b\"c\r\nx\r\n", .chunkExtensionInvalid),
    ("1;a=\"\\\u{1}\"\r\nx\r\n", .chunkExtensionInvalid),
    ("1;a\nx\r\n", .bareLineFeed),
    ("1;a=\"b\nc\"\r\nx\r\n", .bareLineFeed),
    ("1;a\rx\r\n", .bareCarriageReturn),
    ("0\r\n\n", .bareLineFeed),
    ("0\r\n\rx", .bareCarriageReturn),
    ("0\r\nX: a\n\r\n", .bareLineFeed),
    ("0\r\nX : a\r\n\r\n", .spaceBeforeColon),
    ("0\r\nX: a\r\n b\r\n\r\n", .obsoleteFold),
    ("0\r\nGET / HTTP/1.1\r\n\r\n", .spaceBeforeColon),
    ("0\r\nContent-Length: 5\r\n\r\n", .trailerForbidden),
    ("0\r\ntransfer_encoding: chunked\r\n\r\n", .trailerForbidden),
    ("0\r\nHost: a\r\n\r\n", .trailerForbidden),
]

@Suite("A chunked decoder")
struct ChunkedDecoderTests {}

extension ChunkedDecoderTests {
    @Test("gives the data, the end and the trailers, however the body is split", arguments: valid)
    func decodes(message: String, data: String, trailers: [String]) {
        let bytes = Array(message.utf8)
        for pieceByteCount in 1...bytes.count {
            let decoded = decode(bytes + [0x21, 0x0A], pieceByteCount: pieceByteCount)
            #expect(decoded.data == Array(data.utf8))
            #expect(decoded.byteCount == bytes.count)
            #expect(decoded.trailers == trailers)
        }
        for count in 0..<bytes.count {
            let cut = decode(Array(bytes.prefix(count)))
            #expect(cut.byteCount == nil && cut.fault == nil)
        }
    }

    @Test("refuses whatever servers might read differently", arguments: malformed)
    func refuses(message: String, fault: HTTPFault) {
        let bytes = Array(message.utf8)
        for pieceByteCount in [1, 2, 3, Int(Int16.max)] {
            #expect(decode(bytes, pieceByteCount: pieceByteCount).fault == fault)
        }
    }

    @Test("stays refused and stays finished")
    func final() {
        var decoder = ChunkedDecoder()
        let bad = Array("zz".utf8)
        #expect(step(bad, &decoder) == .refused(.chunkSizeInvalid))
        let good = Array("0\r\n\r\n".utf8)
        #expect(step(good, &decoder) == .refused(.chunkSizeInvalid))
        decoder.reset()
        #expect(step(good, &decoder) == .finished(consumed: 5))
        #expect(step(good, &decoder) == .finished(consumed: 0))
    }

    @Test("bounds extensions over the whole body, and trailers in bytes and number")
    func limits() {
        var limits = ChunkedLimits()
        limits.extensionByteCountMax = 6
        limits.trailerByteCountMax = 10
        limits.trailerCountMax = 1
        func fault(_ message: String, pieceByteCount: Int) -> HTTPFault? {
            decode(Array(message.utf8), pieceByteCount: pieceByteCount, limits: limits).fault
        }
        for piece in [1, 100] {
            let chunk = "1;ab\r\nx\r\n"
            #expect(fault(chunk + chunk + "0\r\n\r\n", pieceByteCount: piece) == nil)
            #expect(
                fault(chunk + chunk + chunk, pieceByteCount: piece) == .chunkExtensionsTooLong)
            let spaces = String(repeating: " ", count: 7)
            #expect(fault("1\(spaces);a\r\n", pieceByteCount: piece) == .chunkExtensionsTooLong)
            #expect(fault("0\r\nA: 1234\r\n\r\n", pieceByteCount: piece) == .trailersTooLarge)
            #expect(fault("0\r\nA: 123\r\n\r\n", pieceByteCount: piece) == nil)
            #expect(fault("0\r\nA:\r\nB:\r\n\r\n", pieceByteCount: piece) == .trailersTooLarge)
        }
    }

    @Test("reads back what the encoder writes")
    func roundTrip() {
        var buffer = ByteBuffer()
        let first = [UInt8](repeating: 0x61, count: 300)
        ChunkedEncoder.append(first.span, to: &buffer)
        ChunkedEncoder.append([UInt8]().span, to: &buffer)
        ChunkedEncoder.appendHead(byteCount: 2, to: &buffer)
        buffer.append("\r\n")
        ChunkedEncoder.appendEnd(to: &buffer)
        ChunkedEncoder.appendTerminator(to: &buffer)
        let decoded = decode(buffer.readable.array)
        #expect(decoded.data == first + [0x0D, 0x0A])
        #expect(decoded.byteCount == buffer.count)
    }

    @Test("never traps on mutated bytes, and judges them alike however split")
    func mutations() {
        var random = SeededGenerator(state: 3)
        let signs = Array("\r\n\t ;=\"\\0129afAFg:".utf8)
        for round in 0..<6000 {
            var bytes = Array(valid[round % valid.count].message.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                bytes[index] =
                    Bool.random(using: &random)
                    ? UInt8.random(in: 0...255, using: &random)
                    : signs.randomElement(using: &random) ?? 0
            }
            #expect(decode(bytes) == decode(bytes, pieceByteCount: 1))
        }
    }
}
