import Bytes

/// One open stream as its session holds it.
final class SessionStream {
    /// The bytes of a response's head that have not been made into frames.
    var headByteCount = 0
    /// The bytes to send after the head, waiting for room in the peer's windows.
    private(set) var content = ByteBuffer()
    var trailers = FieldBlock()
    var hasTrailers = false
    var hasHead = false
    /// Whether the peer has ended its side.
    var isRemoteEnded = false
    /// Our content is complete.
    var isEnded = false
    /// The answer has been made into frames whole.
    var isAnswered = false
    /// Ended by us, of our own accord towards a client, for a fault in the answer towards a server.
    var isResetByGateway = false
    /// The client does not wait for the answer.
    var isCancelled = false
    /// The request's head is on its way.
    var isHeadFramed = false
    /// Content bytes framed so far: tells whether the client takes any.
    private(set) var framedByteCount = 0

    /// Storage that a stream keeps while nothing waits.
    private static let keptByteCountMax = 4 * 1024

    /// Large pieces lie in storage that is lent. Small ones, of which slow clients may have one for
    /// each stream, take no more than they need.
    func appendContent(_ bytes: Span<UInt8>, storage: StoragePool?) {
        if content.capacity == 0 {
            content = ByteBuffer(pool: bytes.count > Self.keptByteCountMax ? storage : nil)
        }
        content.append(bytes)
    }

    /// Storage changes hands only where half of it is full: a client that reads nothing holds no
    /// more than twice what it may have waiting.
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

/// The streams of the recent past: which frames may still come for them (RFC 9113 section 5.1).
struct RecentStreams {
    private var ids: [Int32] = []
    private var resets: [Bool] = []
    private var next = 0
    private var highest: Int32 = 0

    mutating func append(_ id: Int32, wasResetByUs: Bool) {
        // Most streams end in the order in which they began: no list holds the newest.
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

    /// Whether the gateway reset the stream, or nil if it was never open, or too long ago.
    func wasResetByUs(_ id: Int32) -> Bool? {
        ids.firstIndex(of: id).map { resets[$0] }
    }

    static let countMax = 64
}
