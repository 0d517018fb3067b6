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

    var kind: Kind? { Kind(rawValue: type) }
    var endsStream: Bool { flags & 1 != 0 }

    init(_ bytes: Span<UInt8>) {
        length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        type = bytes[3]
        flags = bytes[4]
        stream = Int32(bitPattern: FrameScanner.word(bytes, at: 5) & 0x7FFF_FFFF)
    }
}

/// Finds the beginnings of frames in the bytes of a connection, however they are split. The library
/// reports some frames and silently ignores others, but all of them cost time.
struct FrameScanner {
    /// The number of bytes to pass on before the next frame begins: at first those of the preface.
    private(set) var remaining: Int
    /// The beginning of a frame that has not come completely.
    private(set) var begun: [UInt8] = []

    static let headerByteCount = 9
    private static let priorityByteCount = 5

    init(prefaceByteCount: Int) { remaining = prefaceByteCount }

    mutating func passed(_ byteCount: Int) { remaining -= byteCount }

    /// Takes bytes until a frame's header is complete, with the content of a PRIORITY frame.
    ///
    /// - Returns: the number of bytes that were taken.
    mutating func take(_ bytes: Span<UInt8>) -> Int {
        var count = 0
        while count < bytes.count, begun.count < neededByteCount {
            begun.append(bytes[count])
            count += 1
        }
        return count
    }

    private var neededByteCount: Int {
        let count = Self.headerByteCount
        guard begun.count >= count else { return count }
        let header = FrameHeader(begun.span)
        return header.kind == .priority && header.length == Self.priorityByteCount
            ? count + Self.priorityByteCount : count
    }

    /// The header, once it is complete.
    var header: FrameHeader? {
        begun.count >= neededByteCount ? FrameHeader(begun.span) : nil
    }

    /// The stream that a PRIORITY frame names (RFC 7540 section 6.3).
    var dependency: Int32? {
        guard begun.count > Self.headerByteCount else { return nil }
        return Int32(bitPattern: Self.word(begun.span, at: Self.headerByteCount) & 0x7FFF_FFFF)
    }

    /// Hands out the bytes taken so far, until ``beginContent(of:after:)`` gets them back, because
    /// a copy of each frame's would cost memory.
    mutating func takeBegun() -> [UInt8] {
        defer { begun = [] }
        return begun
    }

    /// The bytes taken so far were passed on. The frame's content follows.
    mutating func beginContent(of header: FrameHeader, after taken: consuming [UInt8]) {
        remaining = header.length - (taken.count - Self.headerByteCount)
        taken.removeAll(keepingCapacity: true)
        begun = taken
    }

    static func word(_ bytes: Span<UInt8>, at offset: Int) -> UInt32 {
        UInt32(bytes[offset]) << 24 | UInt32(bytes[offset + 1]) << 16
            | UInt32(bytes[offset + 2]) << 8 | UInt32(bytes[offset + 3])
    }
}
