import CHiredis

/// Bytes that are no reply, or a longer or wider reply than any that we ask for.
public enum RedisProtocolError: Error, Hashable, Sendable {
    /// The bytes are no reply, in hiredis' words.
    case malformed(String)
    case replyTooLong(byteCountMax: Int)
    /// There is a reply that no command waits for.
    case unexpectedReply
}

/// Cuts the bytes of one connection into replies, by hiredis' `redisReader`.
///
/// hiredis bounds the depth (seven arrays in one another). The length is bounded here: no more than
/// `byteCountMax` bytes are held for one reply, and an array announces at most `elementCountMax`
/// elements, so that a false length causes no allocation.
@safe
public struct RedisReplyReader: ~Copyable {
    private let reader: UnsafeMutablePointer<redisReader>
    private let byteCountMax: Int
    /// The number of bytes fed since the last complete reply.
    private var pendingByteCount = 0

    /// The most elements of an array: `CLUSTER SLOTS` answers with an element for each slot at
    /// most.
    public static let elementCountMax = RedisSlot.count

    public init(byteCountMax: Int) {
        guard let reader = unsafe redisReaderCreateWithFunctions(replyFunctions) else {
            fatalError("out of memory")
        }
        unsafe self.reader = reader
        self.byteCountMax = byteCountMax
    }

    deinit { unsafe redisReaderFree(reader) }

    /// Takes bytes from the socket. Call ``next()`` until it is nil before feeding more.
    public mutating func feed(_ bytes: Span<UInt8>) throws(RedisProtocolError) {
        pendingByteCount += bytes.count
        let fed = unsafe bytes.withUnsafeBytes { source in
            unsafe redisReaderFeed(
                reader, source.baseAddress?.assumingMemoryBound(to: CChar.self), source.count)
        }
        guard fed == REDIS_OK else { throw malformed() }
    }

    /// The next complete reply; nil if more bytes are needed.
    public mutating func next() throws(RedisProtocolError) -> RedisReply? {
        var object: UnsafeMutableRawPointer?
        guard unsafe redisReaderGetReply(reader, &object) == REDIS_OK else { throw malformed() }
        guard let object = unsafe object else {
            guard pendingByteCount <= byteCountMax else {
                throw .replyTooLong(byteCountMax: byteCountMax)
            }
            return nil
        }
        // The rest of hiredis' buffer belongs to later replies.
        pendingByteCount = unsafe Int(reader.pointee.len) - Int(reader.pointee.pos)
        return unsafe Unmanaged<ReplyNode>.fromOpaque(object).takeRetainedValue().reply
    }

    private func malformed() -> RedisProtocolError {
        let text = unsafe withUnsafeBytes(of: reader.pointee.errstr) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return .malformed(text)
    }
}

/// A reply while hiredis builds it. hiredis retains the root, and each node its children.
private final class ReplyNode {
    private let value: RedisReply
    private var elements: [ReplyNode] = []

    init(_ value: RedisReply) { self.value = value }

    var reply: RedisReply {
        if case .array = value { return .array(elements.map(\.reply)) }
        return value
    }

    /// Adds a new node at the place that `task` names. hiredis keeps the returned pointer for it.
    static func make(
        _ value: RedisReply, for task: UnsafePointer<redisReadTask>?
    ) -> UnsafeMutableRawPointer? {
        let node = ReplyNode(value)
        guard let parent = unsafe task?.pointee.parent?.pointee.obj else {
            return unsafe Unmanaged.passRetained(node).toOpaque()
        }
        unsafe Unmanaged<ReplyNode>.fromOpaque(parent).takeUnretainedValue().elements.append(node)
        return unsafe Unmanaged.passUnretained(node).toOpaque()
    }
}

/// The table of functions. hiredis keeps a pointer to it, so it lives as long as the program.
private nonisolated(unsafe) let replyFunctions: UnsafeMutablePointer<redisReplyObjectFunctions> = {
    let table = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
    unsafe table.initialize(
        to: redisReplyObjectFunctions(
            createString: createString, createArray: createArray, createInteger: createInteger,
            createNil: createNil, freeObject: freeObject))
    return unsafe table
}()

private func createString(
    _ task: UnsafePointer<redisReadTask>?, _ start: UnsafeMutablePointer<CChar>?, _ count: Int
) -> UnsafeMutableRawPointer? {
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
    let value: RedisReply =
        switch unsafe task?.pointee.type {
        case REDIS_REPLY_ERROR: unsafe .error(String(decoding: bytes, as: UTF8.self))
        case REDIS_REPLY_STATUS: unsafe .simpleString(String(decoding: bytes, as: UTF8.self))
        default: unsafe .bulk([UInt8](bytes))
        }
    return unsafe ReplyNode.make(value, for: task)
}

private func createArray(
    _ task: UnsafePointer<redisReadTask>?, _ elementCount: Int32
) -> UnsafeMutableRawPointer? {
    // Without an object hiredis gives the connection up.
    guard elementCount <= RedisReplyReader.elementCountMax else { return nil }
    return unsafe ReplyNode.make(.array([]), for: task)
}

private func createInteger(
    _ task: UnsafePointer<redisReadTask>?, _ value: Int64
) -> UnsafeMutableRawPointer? {
    unsafe ReplyNode.make(.integer(value), for: task)
}

private func createNil(_ task: UnsafePointer<redisReadTask>?) -> UnsafeMutableRawPointer? {
    unsafe ReplyNode.make(.null, for: task)
}

private func freeObject(_ object: UnsafeMutableRawPointer?) {
    guard let object = unsafe object else { return }
    unsafe Unmanaged<ReplyNode>.fromOpaque(object).release()
}
