import HTTP

/// Takes a response body out of its framing (RFC 9112 section 6.3).
///
/// Each connection has one, which changes in place, because a decoder is too large to be copied for
/// every answer that needs none.
struct ResponseBodyReader {
    private enum Framing {
        case length, chunked, untilClose
    }

    private var framing = Framing.untilClose
    /// The bytes still to come of an announced length.
    private var remaining: UInt64 = 0
    private var decoder = ChunkedDecoder()

    enum Step {
        case data(skip: Int, count: Int)
        case ended(consumed: Int)
        case needsMore(consumed: Int)
        case malformed(HTTPFault)
    }

    /// Prepares for the body of the next answer.
    mutating func begin(_ framing: BodyFraming) {
        if self.framing == .chunked { decoder = ChunkedDecoder() }
        switch framing {
        case .none:
            self.framing = .length
            remaining = 0
        case .length(let byteCount):
            self.framing = .length
            remaining = byteCount
        case .chunked: self.framing = .chunked
        case .untilClose: self.framing = .untilClose
        }
    }

    /// The trailers that came after a chunked body, once it has ended.
    var trailers: TrailerSection? { framing == .chunked ? decoder.trailerSection : nil }

    /// True if the connection's end ends the body.
    var endsAtClose: Bool { framing == .untilClose }

    /// The number of bytes still to come, if it is known.
    var remainingByteCount: Int? { framing == .length ? Int(clamping: remaining) : nil }

    /// The next `byteCount` bytes of a known length went to the client without being read here.
    mutating func skip(_ byteCount: Int) { remaining -= UInt64(byteCount) }

    /// True if `byteCount` bytes more could complete the body.
    func mayEnd(with byteCount: Int) -> Bool {
        switch framing {
        case .length: remaining <= UInt64(byteCount)
        case .chunked: byteCount > 0
        case .untilClose: true
        }
    }

    mutating func next(_ input: Span<UInt8>) -> Step {
        switch framing {
        case .length:
            guard remaining > 0 else { return .ended(consumed: 0) }
            guard !input.isEmpty else { return .needsMore(consumed: 0) }
            let count = Int(min(remaining, UInt64(input.count)))
            remaining -= UInt64(count)
            return .data(skip: 0, count: count)
        case .untilClose:
            return input.isEmpty ? .needsMore(consumed: 0) : .data(skip: 0, count: input.count)
        case .chunked:
            guard !input.isEmpty else { return .needsMore(consumed: 0) }
            switch decoder.decode(input) {
            case .data(let skip, let count): return .data(skip: skip, count: count)
            case .needMore(let consumed): return .needsMore(consumed: consumed)
            case .finished(let consumed): return .ended(consumed: consumed)
            case .refused(let fault): return .malformed(fault)
            }
        }
    }
}
