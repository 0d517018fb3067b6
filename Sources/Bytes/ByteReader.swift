/// Takes bytes off the front of a span. A read that would pass its end returns nil, and never
/// traps.
public struct ByteReader: ~Escapable {
    private let bytes: Span<UInt8>
    public private(set) var offset = 0

    @_lifetime(copy bytes)
    public init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    public var remainingCount: Int { bytes.count - offset }
    public var isAtEnd: Bool { offset == bytes.count }

    public mutating func readByte() -> UInt8? {
        guard offset < bytes.count else { return nil }
        defer { offset += 1 }
        return bytes[offset]
    }

    /// An unsigned big-endian integer of `byteCount` (1 to 8) bytes.
    public mutating func readInteger(byteCount: Int) -> UInt64? {
        guard byteCount > 0, byteCount <= 8, remainingCount >= byteCount else { return nil }
        var value: UInt64 = 0
        for index in offset..<offset + byteCount { value = value << 8 | UInt64(bytes[index]) }
        offset += byteCount
        return value
    }

    /// The next `byteCount` bytes, in place.
    @_lifetime(copy self)
    public mutating func readSpan(byteCount: Int) -> Span<UInt8>? {
        guard byteCount >= 0, remainingCount >= byteCount else { return nil }
        defer { offset += byteCount }
        return bytes.extracting(offset..<offset + byteCount)
    }
}

extension [UInt8] {
    /// Makes the array hold `bytes` and nothing else, reusing its storage if it suffices.
    public mutating func replaceAll(with bytes: Span<UInt8>) {
        if !isEmpty { removeAll(keepingCapacity: true) }
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}

extension Span where Element == UInt8 {
    /// A copy of the bytes on the heap.
    public var array: [UInt8] {
        unsafe withUnsafeBufferPointer { unsafe [UInt8]($0) }
    }
}
