/// A run of bytes inside a message, counted from the message's first byte.
///
/// It is half the size of a `Range<Int>`, because a head holds two for each field.
public struct Range32: Hashable, Sendable {
    public var start: UInt32
    public var count: UInt32

    public static let empty = Range32(start: 0, count: 0)

    @inlinable
    public init(start: UInt32, count: UInt32) {
        self.start = start
        self.count = count
    }

    /// Makes a range. Heads are bounded far below 4 GiB (``HeadLimits``), so nothing is cut off.
    @inlinable
    init(_ start: Int, _ end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        count = UInt32(truncatingIfNeeded: end &- start)
    }

    @inlinable public var isEmpty: Bool { count == 0 }
    /// The offset after the last byte.
    @inlinable public var end: Int { Int(start) + Int(count) }
    @inlinable public var offsets: Range<Int> { Int(start)..<end }
}

extension Span where Element == UInt8 {
    /// The bytes of `range`, in place. Traps if this is not the message that `range` belongs to.
    @inlinable
    @_lifetime(copy self)
    public func extracting(_ range: Range32) -> Span<UInt8> { extracting(range.offsets) }
}
