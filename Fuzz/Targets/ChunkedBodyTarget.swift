import Bytes
import HTTP

extension FuzzTarget {
    /// A chunked body is decoded alike however it is cut; encoded anew it decodes to the same.
    static let chunkedBody = FuzzTarget("chunked-body", byteCountMax: 2048) { bytes in
        let whole = DecodedBody(bytes, cuts: [bytes.count])
        for cuts in Cuts.all(of: bytes) {
            try FuzzFinding.requireEqual(
                whole, DecodedBody(bytes, cuts: cuts), "cut otherwise, the body reads otherwise")
        }
        guard case .finished = whole.end else { return }
        try FuzzFinding.require(
            whole.consumed <= bytes.count && whole.body.count < whole.consumed, "more than came")
        for step in [1, 7, 4096] {
            let encoded = encode(whole.body, step: step)
            let again = DecodedBody(encoded, cuts: [encoded.count])
            try FuzzFinding.require(
                again.end == .finished && again.consumed == encoded.count
                    && again.body == whole.body && again.trailers.isEmpty,
                "encoded in pieces of \(step), the body reads otherwise")
        }
    }

    private static func encode(_ body: [UInt8], step: Int) -> [UInt8] {
        var output = ByteBuffer()
        for start in stride(from: 0, to: body.count, by: step) {
            let piece = Array(body[start..<min(start + step, body.count)])
            ChunkedEncoder.append(piece.span, to: &output)
        }
        ChunkedEncoder.appendTerminator(to: &output)
        return output.readable.array
    }
}

/// The result of ``ChunkedDecoder`` for an input.
private struct DecodedBody: Equatable {
    enum End: Equatable {
        case open, finished
        case refused(HTTPFault)
    }

    var end = End.open
    var body: [UInt8] = []
    /// Bytes up to the end; 0 where there was none.
    var consumed = 0
    var trailers: [FieldText] = []

    init(_ bytes: [UInt8], cuts: [Int]) {
        var limits = ChunkedLimits()
        limits.extensionByteCountMax = 64
        limits.trailerByteCountMax = 128
        limits.trailerCountMax = 4
        var decoder = ChunkedDecoder(limits: limits)
        var position = 0
        for cut in cuts where end == .open {
            loop: while true {
                switch decoder.decode(bytes.span.extracting(position..<cut)) {
                case .data(let skip, let count):
                    position += skip
                    body += bytes[position..<position + count]
                    position += count
                case .needMore(let consumed):
                    position += consumed
                    precondition(position == cut, "the decoder left bytes behind")
                    break loop
                case .finished(let count):
                    end = .finished
                    consumed = position + count
                    break loop
                case .refused(let fault):
                    end = .refused(fault)
                    break loop
                }
            }
        }
        trailers = decoder.trailers.map { FieldText($0, of: decoder.trailerBytes) }
        if end != .finished { trailers = [] }
    }
}
