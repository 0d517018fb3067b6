import Bytes

/// The nine bytes before each frame (RFC 9113 section 4.1).
struct FrameHeader {
    enum Kind: UInt8 {
        case data, headers, priority, reset, settings, pushPromise, ping, goAway, windowUpdate
        case continuation
        /// PRIORITY_UPDATE (RFC 9218 section 7.1).
        case priorityUpdate = 16
    }

    let length: Int
    let type: UInt8
    let flags: UInt8
    let stream: Int32
    /// The stream that a PRIORITY frame names (RFC 7540 section 6.3).
    let dependency: Int32?

    static let byteCount = 9
    static let priorityByteCount = 5

    var kind: Kind? { Kind(rawValue: type) }
    var endsStream: Bool { flags & 1 != 0 }

    /// The header at the beginning of `bytes`; nil if more are needed: of a PRIORITY frame all, of
    /// others nine.
    init?(_ bytes: Span<UInt8>) {
        guard bytes.count >= Self.byteCount else { return nil }
        length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        type = bytes[3]
        flags = bytes[4]
        stream = Self.stream(bytes, at: 5)
        guard type == Kind.priority.rawValue, length == Self.priorityByteCount else {
            dependency = nil
            return
        }
        guard bytes.count >= Self.byteCount + Self.priorityByteCount else { return nil }
        dependency = Self.stream(bytes, at: Self.byteCount)
    }

    private static func stream(_ bytes: Span<UInt8>, at offset: Int) -> Int32 {
        Int32(bytes[offset] & 0x7F) << 24 | Int32(bytes[offset + 1]) << 16
            | Int32(bytes[offset + 2]) << 8 | Int32(bytes[offset + 3])
    }
}

/// Finds the beginnings of frames in the bytes of a connection, however they are split. The library
/// reports some frames and silently ignores others, but all of them cost time.
struct FrameScanner {
    /// The number of bytes to pass on before the next frame begins: at first those of the preface.
    private(set) var remaining: Int
    /// The beginning of a frame whose header has not come completely.
    private var begun: [UInt8] = []

    init(prefaceByteCount: Int) { remaining = prefaceByteCount }

    mutating func passed(_ byteCount: Int) { remaining -= byteCount }

    /// The header of the frame that begins with `bytes`; nil if its beginning came before, or is
    /// not complete.
    func header(of bytes: Span<UInt8>) -> FrameHeader? {
        begun.isEmpty ? FrameHeader(bytes) : nil
    }

    /// A frame begins that is to be passed on.
    mutating func begin(_ header: FrameHeader) { remaining = FrameHeader.byteCount + header.length }

    /// Takes bytes until a frame's header is complete.
    ///
    /// - Returns: the number of bytes that were taken.
    mutating func take(_ bytes: Span<UInt8>) -> Int {
        var count = 0
        while count < bytes.count, begunHeader == nil {
            begun.append(bytes[count])
            count += 1
        }
        return count
    }

    /// The header of the frame whose bytes were taken, once it is complete.
    var begunHeader: FrameHeader? { FrameHeader(begun.span) }

    /// Hands out the bytes that were taken.
    mutating func takeBegun() -> [UInt8] {
        defer { begun = [] }
        return begun
    }
}
