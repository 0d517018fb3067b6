import Bytes

/// One open stream in its session.
final class SessionStream {
    /// The number of bytes of a response's head that have not been made into frames.
    var headByteCount = 0
    /// The bytes to send after the head, waiting for room in the peer's windows.
    private(set) var content = ByteBuffer()
    var trailers = FieldBlock()
    var hasTrailers = false
    var hasHead = false
    /// True if the peer has ended its side.
    var isRemoteEnded = false
    /// True if our content is complete.
    var isEnded = false
    /// True if the complete answer has been made into frames.
    var isAnswered = false
    /// True if the gateway has reset the stream: towards a client by its own decision, towards a
    /// server for a fault in the answer.
    var isResetByGateway = false
    /// The client does not wait for the answer.
    var isCancelled = false
    /// True if the request's head is on its way.
    var isHeadFramed = false
    /// The number of content bytes framed so far, which shows if the client takes any.
    private(set) var framedByteCount = 0

    /// Prepares for another stream.
    func reset() {
        headByteCount = 0
        content.clear(keepingAtMost: Self.keptByteCountMax)
        if !trailers.isEmpty { trailers.clear() }
        hasTrailers = false
        hasHead = false
        isRemoteEnded = false
        isEnded = false
        isAnswered = false
        isResetByGateway = false
        isCancelled = false
        isHeadFramed = false
        framedByteCount = 0
    }

    /// The storage that a stream keeps while no content waits.
    private static let keptByteCountMax = 4 * 1024

    /// Appends content. Large pieces use lent storage. Small ones, of which slow clients may have
    /// one for each stream, take no more memory than they need.
    func appendContent(_ bytes: Span<UInt8>, storage: StoragePool?) {
        if content.capacity == 0 {
            content = ByteBuffer(pool: bytes.count > Self.keptByteCountMax ? storage : nil)
        }
        content.append(bytes)
    }

    /// Takes content out of a buffer. The storage moves with it only if half of it is full, so that
    /// a client that reads nothing holds no more than twice the bytes that may wait for it.
    func takeContent(_ byteCount: Int, outOf buffer: inout ByteBuffer, storage: StoragePool?) {
        if content.isEmpty, byteCount == buffer.count, byteCount * 2 >= buffer.capacity {
            content = ByteBuffer(pool: storage)
            return swap(&content, &buffer)
        }
        appendContent(buffer.readable.extracting(first: byteCount), storage: storage)
        buffer.consume(byteCount)
    }

    func moveContent(_ byteCount: Int, to output: inout ByteBuffer) {
        output.append(content.readable.extracting(0..<byteCount))
        content.consume(byteCount)
        if content.isEmpty { content.clear(keepingAtMost: Self.keptByteCountMax) }
        framedByteCount += byteCount
    }
}

/// The streams of the recent past, which decide if further frames may come for them (RFC 9113
/// section 5.1).
struct RecentStreams {
    private var ids: [Int32] = []
    private var resets: [Bool] = []
    private var next = 0
    private var highest: Int32 = 0

    mutating func append(_ id: Int32, wasResetByUs: Bool) {
        // Most streams end in the order in which they began, so no list is needed for the newest.
        let isNewest = id > highest
        highest = max(highest, id)
        if !isNewest, let index = ids.firstIndex(of: id) {
            resets[index] = resets[index] || wasResetByUs
        } else if ids.count < Self.countMax {
            ids.append(id)
            resets.append(wasResetByUs)
        } else {
            ids[next] = id
            resets[next] = wasResetByUs
            next = (next + 1) % Self.countMax
        }
    }

    /// True if the gateway reset the stream; nil if the stream was never open, or too long ago.
    func wasResetByUs(_ id: Int32) -> Bool? {
        ids.firstIndex(of: id).map { resets[$0] }
    }

    static let countMax = 64
}
