public import Bytes

/// The kind of the next item.
public enum CBORKind: Sendable {
    case unsigned, negative, bytes, text, array, map, bool, null
}

/// Reads CBOR in place, item by item, without building a tree.
///
/// The subset is the deterministic one of RFC 8949 section 4.2 without tags and floats, except that
/// map keys may come in any order (Apple's have no reliable order). A reader exists only over bytes
/// that have been checked as a whole, so its methods throw only if an item has another type than
/// the one asked for. Nothing is allocated.
public struct CBORReader: ~Escapable {
    private let bytes: Span<UInt8>
    /// The number of bytes that have been read.
    public private(set) var offset = 0

    /// Checks that `bytes` are exactly one item within `limits`, with nothing after it.
    @_lifetime(copy bytes)
    public init(_ bytes: Span<UInt8>, limits: CBORLimits) throws(CBORError) {
        // Checked first, so that an oversized input costs nothing.
        guard bytes.count <= limits.byteCountMax else {
            throw CBORError(.tooLong, at: limits.byteCountMax)
        }
        let end = try bytes.cborItemByteCount(limits: limits)
        guard end == bytes.count else { throw CBORError(.trailingBytes, at: end) }
        self.bytes = bytes
    }

    public var isAtEnd: Bool { offset == bytes.count }

    /// The kind of the next item.
    public func peekKind() throws(CBORError) -> CBORKind {
        let head = try bytes.cborHead(at: offset)
        switch head.major {
        case .unsigned: return .unsigned
        case .negative: return .negative
        case .bytes: return .bytes
        case .text: return .text
        case .array: return .array
        case .map: return .map
        case .simple: return head.argument == 22 ? .null : .bool
        case .tag: throw CBORError(.tag, at: offset)
        }
    }

    public mutating func readUnsigned() throws(CBORError) -> UInt64 {
        try take(.unsigned).argument
    }

    /// Reads a signed integer that fits in 64 bits.
    public mutating func readInteger() throws(CBORError) -> Int64 {
        let head = try bytes.cborHead(at: offset)
        guard head.major == .unsigned || head.major == .negative else {
            throw CBORError(.unexpectedType, at: offset)
        }
        guard let value = Int64(exactly: head.argument) else {
            throw CBORError(.integerRange, at: offset)
        }
        offset += head.byteCount
        return head.major == .unsigned ? value : -1 - value
    }

    /// Reads the argument `n` of a negative integer, whose value is `-1 - n`.
    public mutating func readNegativeArgument() throws(CBORError) -> UInt64 {
        try take(.negative).argument
    }

    @_lifetime(copy self)
    public mutating func readBytes() throws(CBORError) -> Span<UInt8> {
        try readString(.bytes)
    }

    /// Reads the head of a byte string and returns the range of its content in the reader's input.
    public mutating func readBytesRange() throws(CBORError) -> Range<Int> {
        let byteCount = try readBytes().count
        return offset - byteCount..<offset
    }

    /// Reads the UTF-8 of a text string.
    @_lifetime(copy self)
    public mutating func readText() throws(CBORError) -> Span<UInt8> {
        try readString(.text)
    }

    /// Reads the head of an array and returns the number of its elements.
    public mutating func readArrayCount() throws(CBORError) -> Int {
        Int(try take(.array).argument)
    }

    /// Reads the head of a map and returns the number of its entries, each a key and a value.
    public mutating func readMapCount() throws(CBORError) -> Int {
        Int(try take(.map).argument)
    }

    public mutating func readBool() throws(CBORError) -> Bool {
        let head = try bytes.cborHead(at: offset)
        guard head.major == .simple, head.argument != 22 else {
            throw CBORError(.unexpectedType, at: offset)
        }
        offset += 1
        return head.argument == 21
    }

    public mutating func readNull() throws(CBORError) {
        let head = try bytes.cborHead(at: offset)
        guard head.major == .simple, head.argument == 22 else {
            throw CBORError(.unexpectedType, at: offset)
        }
        offset += 1
    }

    /// Skips one item of any kind, and returns its encoding.
    @discardableResult
    @_lifetime(copy self)
    public mutating func readItem() throws(CBORError) -> Span<UInt8> {
        let start = offset
        // The number of items still to skip. It is bounded, because each of them takes a byte.
        var pendingCount: UInt64 = 1
        while pendingCount > 0 {
            let head = try bytes.cborHead(at: offset)
            pendingCount -= 1
            offset += head.byteCount
            switch head.major {
            case .bytes, .text: offset += Int(head.argument)
            case .array: pendingCount += head.argument
            case .map: pendingCount += head.argument * 2
            default: break
            }
        }
        return bytes.extracting(start..<offset)
    }

    /// The text key of the next entry. Nil for a key of another type; it is skipped.
    @_lifetime(copy self)
    public mutating func readTextKey() throws(CBORError) -> Span<UInt8>? {
        guard try bytes.cborHead(at: offset).major == .text else {
            try readItem()
            return nil
        }
        return try readString(.text)
    }

    private mutating func take(_ major: CBORHead.Major) throws(CBORError) -> CBORHead {
        let head = try bytes.cborHead(at: offset)
        guard head.major == major else { throw CBORError(.unexpectedType, at: offset) }
        offset += head.byteCount
        return head
    }

    @_lifetime(copy self)
    private mutating func readString(_ major: CBORHead.Major) throws(CBORError) -> Span<UInt8> {
        let head = try take(major)
        let start = offset
        offset += Int(head.argument)
        return bytes.extracting(start..<offset)
    }
}

extension Span where Element == UInt8 {
    /// True if the bytes are the UTF-8 of `text`: compares map keys without an allocation.
    @inlinable
    public func isText(_ text: StaticString) -> Bool { ASCII.equals(self, text) }
}
