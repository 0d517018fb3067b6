import HTTP

/// Takes a response body out of its framing (RFC 9112 section 6.3).
enum ResponseBodyReader {
    case length(remaining: UInt64)
    case chunked(ChunkedDecoder)
    case untilClose

    enum Step {
        case data(skip: Int, count: Int)
        case ended(consumed: Int)
        case needsMore(consumed: Int)
        case malformed(HTTPFault)
    }

    init(_ framing: BodyFraming) {
        switch framing {
        case .none: self = .length(remaining: 0)
        case .length(let byteCount): self = .length(remaining: byteCount)
        case .chunked: self = .chunked(ChunkedDecoder())
        case .untilClose: self = .untilClose
        }
    }

    /// The trailers that came after a chunked body, once it has ended.
    var trailers: TrailerSection? {
        if case .chunked(let decoder) = self { decoder.trailerSection } else { nil }
    }

    /// Whether the connection's end is the body's.
    var endsAtClose: Bool { if case .untilClose = self { true } else { false } }

    mutating func next(_ input: Span<UInt8>) -> Step {
        switch self {
        case .length(let remaining):
            guard remaining > 0 else { return .ended(consumed: 0) }
            guard !input.isEmpty else { return .needsMore(consumed: 0) }
            let count = Int(min(remaining, UInt64(input.count)))
            self = .length(remaining: remaining - UInt64(count))
            return .data(skip: 0, count: count)
        case .untilClose:
            return input.isEmpty ? .needsMore(consumed: 0) : .data(skip: 0, count: input.count)
        case .chunked(var decoder):
            guard !input.isEmpty else { return .needsMore(consumed: 0) }
            let step = decoder.decode(input)
            self = .chunked(decoder)
            switch step {
            case .data(let skip, let count): return .data(skip: skip, count: count)
            case .needMore(let consumed): return .needsMore(consumed: consumed)
            case .finished(let consumed): return .ended(consumed: consumed)
            case .refused(let fault): return .malformed(fault)
            }
        }
    }
}
