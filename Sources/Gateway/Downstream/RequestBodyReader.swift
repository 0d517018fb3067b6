import Bytes
import HTTP

/// Takes a request body out of its framing (RFC 9112 sections 6 and 7).
///
/// Each connection has one, which changes in place.
struct RequestBodyReader {
    private enum Framing {
        case complete, length, chunked
    }

    /// The state that only chunked bodies need, because it is too large for each idle connection.
    private final class Chunks {
        var decoder = ChunkedDecoder()
        var trailers: TrailerSection?
    }

    private var framing = Framing.complete
    /// The bytes still to come of an announced length.
    private var remaining: UInt64 = 0
    /// Kept until the connection's next body begins.
    private var chunks: Chunks?

    /// The fields after a chunked body that is complete.
    var trailers: TrailerSection? { chunks?.trailers }

    enum Step {
        /// `count` bytes of the body come after `skip` bytes of framing.
        case data(skip: Int, count: Int, isLast: Bool)
        case ended(consumed: Int)
        case needsMore(consumed: Int)
        case malformed(HTTPFault)
    }

    /// Prepares for the body of the next request.
    mutating func begin(_ framing: BodyFraming) {
        switch framing {
        case .none, .untilClose, .length(0): end()
        case .length(let byteCount):
            end()
            self.framing = .length
            remaining = byteCount
        case .chunked:
            self.framing = .chunked
            chunks = Chunks()
        }
    }

    /// Ends the body: no more of it is read.
    mutating func end() {
        framing = .complete
        if chunks != nil { chunks = nil }
    }

    var isComplete: Bool { framing == .complete }

    /// The number of bytes still to come, if it is known.
    var remainingByteCount: Int? {
        switch framing {
        case .complete: 0
        case .length: Int(exactly: remaining)
        case .chunked: nil
        }
    }

    /// The most bytes of one read. More for a long body, which is written to a file in such pieces.
    var readByteCountMax: Int {
        min(max(remainingByteCount ?? 0, HTTP1Connection.readByteCount), Self.longReadByteCount)
    }

    private static let longReadByteCount = 64 * 1024

    /// The next part of the body in `input`, which is not empty.
    mutating func next(_ input: Span<UInt8>) -> Step {
        switch framing {
        case .complete: return .needsMore(consumed: 0)
        case .length:
            let count = Int(min(remaining, UInt64(input.count)))
            remaining -= UInt64(count)
            if remaining == 0 { framing = .complete }
            return .data(skip: 0, count: count, isLast: remaining == 0)
        case .chunked:
            guard let chunks else { preconditionFailure("a chunked body without its decoder") }
            switch chunks.decoder.decode(input) {
            case .data(let skip, let count):
                return .data(skip: skip, count: count, isLast: false)
            case .needMore(let consumed): return .needsMore(consumed: consumed)
            case .finished(let consumed):
                chunks.trailers = chunks.decoder.trailerSection
                framing = .complete
                return .ended(consumed: consumed)
            case .refused(let fault): return .malformed(fault)
            }
        }
    }
}
