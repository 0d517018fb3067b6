/// The elements of a field value that is separated by commas, or by another byte, without the white
/// space around them (RFC 9110 section 5.6.1). Separators in quoted strings count as well.
struct ListElements: ~Escapable {
    private let value: Span<UInt8>
    private let separator: UInt8
    private var position = 0

    @_lifetime(copy value)
    init(_ value: Span<UInt8>, separator: UInt8 = ASCIIByte.comma) {
        self.value = value
        self.separator = separator
    }

    /// The next element as offsets into the value, possibly empty; nil after the last one.
    @_lifetime(self: copy self)
    mutating func next() -> Range<Int>? {
        guard position <= value.count else { return nil }
        var start = position
        var end = position
        while end < value.count, value[end] != separator { end += 1 }
        position = end + 1
        while start < end, isSpace(value[start]) { start += 1 }
        while end > start, isSpace(value[end - 1]) { end -= 1 }
        return start..<end
    }

    private func isSpace(_ byte: UInt8) -> Bool {
        byte == ASCIIByte.space || byte == ASCIIByte.tab
    }
}

extension Span where Element == UInt8 {
    /// True for a `token` of RFC 9110 section 5.6.2.
    package var isToken: Bool {
        guard !isEmpty else { return false }
        for index in indices where !ByteSet.token.contains(self[index]) { return false }
        return true
    }
}
