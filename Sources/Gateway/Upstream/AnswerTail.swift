import HTTP
import HTTP2

/// The part of an HTTP/2 answer with a known length that is held back until its stream has ended.
/// If more bytes come, no client may get the complete answer (RFC 9113 section 8.1.1). A client
/// that had all of it before the stream's end would seem to leave too early. The part is the last
/// byte, or the head of an answer without content.
struct AnswerTail {
    private var head: HeadEvent?
    private var byte: UInt8?
    private var byteCount: UInt64 = 0

    /// True if `event` is held back for now.
    mutating func keeps(_ event: HeadEvent, framing: BodyFraming) -> Bool {
        guard framing == .length(0) || framing == .none, !event.isEnd else { return false }
        head = event
        return true
    }

    /// The part of `bytes`, which come next, that may go on. Nothing goes on if more comes than was
    /// announced, because nghttp2 resets the stream then.
    @_lifetime(copy bytes)
    mutating func cut(_ bytes: Span<UInt8>, framing: BodyFraming) -> Span<UInt8> {
        byteCount += UInt64(bytes.count)
        guard case .length(byteCount) = framing, !bytes.isEmpty else { return bytes }
        byte = bytes[bytes.count - 1]
        return bytes.extracting(droppingLast: 1)
    }

    mutating func takeHead() -> HeadEvent? { head.take() }

    mutating func takeByte() -> InlineArray<1, UInt8>? {
        guard let last = byte.take() else { return nil }
        return [last]
    }
}
