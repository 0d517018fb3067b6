/// Thirty-two bytes held inline: a SHA-256 digest, a key id, one coordinate of a P-256 point.
///
/// It has no heap storage, so that tables of millions and the request path never allocate for one.
/// `word0` holds the first eight bytes, big-endian.
public struct Bytes32: Hashable, Sendable, Comparable {
    public let word0: UInt64
    public let word1: UInt64
    public let word2: UInt64
    public let word3: UInt64

    public static let byteCount = 32
    public static let zero = Bytes32(word0: 0, word1: 0, word2: 0, word3: 0)

    @inlinable
    public init(word0: UInt64, word1: UInt64, word2: UInt64, word3: UInt64) {
        self.word0 = word0
        self.word1 = word1
        self.word2 = word2
        self.word3 = word3
    }

    /// Copies `bytes`. Nil unless they are exactly 32.
    @inlinable
    public init?(_ bytes: Span<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        word0 = bytes.bigEndianWord(at: 0)
        word1 = bytes.bigEndianWord(at: 8)
        word2 = bytes.bigEndianWord(at: 16)
        word3 = bytes.bigEndianWord(at: 24)
    }

    /// Copies `bytes`. Nil unless they are exactly 32.
    @inlinable
    public init?(_ bytes: [UInt8]) {
        self.init(bytes.span)
    }

    @inlinable
    public subscript(index: Int) -> UInt8 {
        precondition(index >= 0 && index < Self.byteCount)
        let word = index < 16 ? (index < 8 ? word0 : word1) : (index < 24 ? word2 : word3)
        return UInt8(truncatingIfNeeded: word >> UInt64(56 - (index & 7) * 8))
    }

    public var array: [UInt8] {
        [UInt8](capacity: Self.byteCount) { output in
            output.append(bigEndian: word0)
            output.append(bigEndian: word1)
            output.append(bigEndian: word2)
            output.append(bigEndian: word3)
        }
    }

    /// Calls `use` with the bytes, which must not be kept.
    @inlinable
    public func withBytes<Result>(_ use: (Span<UInt8>) -> Result) -> Result {
        let words: InlineArray<4, UInt64> = [
            word0.bigEndian, word1.bigEndian, word2.bigEndian, word3.bigEndian,
        ]
        return unsafe withUnsafeBytes(of: words) { bytes in
            let span = unsafe Span<UInt8>(_bytes: RawSpan(_unsafeBytes: bytes))
            return use(span)
        }
    }

    public static func < (left: Bytes32, right: Bytes32) -> Bool {
        (left.word0, left.word1, left.word2, left.word3)
            < (right.word0, right.word1, right.word2, right.word3)
    }
}

/// Sixteen bytes held inline: the random part of a challenge, a request id.
public struct Bytes16: Hashable, Sendable {
    public let word0: UInt64
    public let word1: UInt64

    public static let byteCount = 16

    @inlinable
    public init(word0: UInt64, word1: UInt64) {
        self.word0 = word0
        self.word1 = word1
    }

    /// Copies `bytes`. Nil unless they are exactly 16.
    @inlinable
    public init?(_ bytes: Span<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        word0 = bytes.bigEndianWord(at: 0)
        word1 = bytes.bigEndianWord(at: 8)
    }

    public var array: [UInt8] {
        [UInt8](capacity: Self.byteCount) { output in
            output.append(bigEndian: word0)
            output.append(bigEndian: word1)
        }
    }

    /// Calls `use` with the bytes, which must not be kept.
    @inlinable
    public func withBytes<Result>(_ use: (Span<UInt8>) -> Result) -> Result {
        let words: InlineArray<2, UInt64> = [word0.bigEndian, word1.bigEndian]
        return unsafe withUnsafeBytes(of: words) { bytes in
            let span = unsafe Span<UInt8>(_bytes: RawSpan(_unsafeBytes: bytes))
            return use(span)
        }
    }
}

extension Span where Element == UInt8 {
    /// The eight bytes from `offset`, most significant first.
    @inlinable
    public func bigEndianWord(at offset: Int) -> UInt64 {
        littleEndianWord(at: offset).byteSwapped
    }

    /// The eight bytes from `offset`, the first one least significant.
    ///
    /// It takes one bounds check for all eight, and one load.
    @inlinable @inline(__always)
    public func littleEndianWord(at offset: Int) -> UInt64 {
        precondition(offset >= 0 && offset <= count &- 8)
        return unsafe withUnsafeBytes { bytes in
            unsafe UInt64(
                littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
    }
}

extension [UInt8] {
    /// Appends the eight bytes of `word`, most significant first.
    public mutating func append(bigEndian word: UInt64) {
        append(addingCapacity: 8) { $0.append(bigEndian: word) }
    }
}

extension OutputSpan where Element == UInt8 {
    /// Appends the low `byteCount` bytes of `word`, most significant first.
    @inlinable @inline(__always)
    @_lifetime(self: copy self)
    public mutating func append(bigEndian word: UInt64, byteCount: Int = 8) {
        precondition(byteCount >= 1 && byteCount <= 8)
        guard freeCapacity >= 8 else { return appendBytes(of: word, byteCount: byteCount) }
        let ordered = (word &<< UInt64(64 &- byteCount &* 8)).bigEndian
        unsafe withUnsafeMutableBufferPointer { memory, count in
            // The bytes behind `byteCount` are not counted, and will be overwritten.
            unsafe UnsafeMutableRawBufferPointer(memory).storeBytes(
                of: ordered, toByteOffset: count, as: UInt64.self)
            count &+= byteCount
        }
    }

    /// Appends them one by one, if there is no room for eight.
    @usableFromInline
    @_lifetime(self: copy self)
    mutating func appendBytes(of word: UInt64, byteCount: Int) {
        var shift = byteCount &* 8
        while shift > 0 {
            shift &-= 8
            append(UInt8(truncatingIfNeeded: word &>> UInt64(shift)))
        }
    }
}
