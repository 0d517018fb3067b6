import Bytes
import HTTP

/// Takes a request body out of its framing (RFC 9112 sections 6 and 7).
enum RequestBodyReader {
    case complete
    /// A chunked body is complete, and brought fields after it.
    case ended(TrailerSection)
    case length(remaining: UInt64)
    case chunked(ChunkedDecoder)

    enum Step {
        /// After `skip` bytes of framing come `count` bytes of the body.
        case data(skip: Int, count: Int, isLast: Bool)
        case ended(consumed: Int)
        case needsMore(consumed: Int)
        case malformed(HTTPFault)
    }

    init(_ framing: BodyFraming) {
        switch framing {
        case .none, .untilClose, .length(0): self = .complete
        case .length(let byteCount): self = .length(remaining: byteCount)
        case .chunked: self = .chunked(ChunkedDecoder())
        }
    }

    var isComplete: Bool {
        switch self {
        case .complete, .ended: true
        case .length, .chunked: false
        }
    }

    var trailers: TrailerSection? {
        if case .ended(let trailers) = self { trailers } else { nil }
    }

    /// Bytes still to come, where that is known.
    var remainingByteCount: Int? {
        switch self {
        case .complete, .ended: 0
        case .length(let remaining): Int(exactly: remaining)
        case .chunked: nil
        }
    }

    /// The next part of the body in `input`, which is not empty.
    mutating func next(_ input: Span<UInt8>) -> Step {
        switch self {
        case .complete, .ended: return .needsMore(consumed: 0)
        case .length(let remaining):
            let count = Int(min(remaining, UInt64(input.count)))
            let rest = remaining - UInt64(count)
            self = rest == 0 ? .complete : .length(remaining: rest)
            return .data(skip: 0, count: count, isLast: rest == 0)
        case .chunked(var decoder):
            let step = decoder.decode(input)
            self = .chunked(decoder)
            switch step {
            case .data(let skip, let count):
                return .data(skip: skip, count: count, isLast: false)
            case .needMore(let consumed): return .needsMore(consumed: consumed)
            case .finished(let consumed):
                self = decoder.trailerSection.map { .ended($0) } ?? .complete
                return .ended(consumed: consumed)
            case .refused(let fault): return .malformed(fault)
            }
        }
    }
}
