import Bytes

/// Reads the values of fields `Cookie` (RFC 6265 section 4.2.1).
public enum Cookie {
    /// The place of the next value of the cookie `name` in a field's value; nil if there is none.
    /// `offset` begins at 0, and moves behind it.
    public static func nextValue(
        named name: [UInt8], in field: Span<UInt8>, after offset: inout Int
    ) -> Range<Int>? {
        while offset < field.count {
            var (start, end) = (offset, offset)
            while end < field.count, field[end] != UInt8(ascii: ";") { end += 1 }
            offset = end + 1
            while start < end, isSpace(field[start]) { start += 1 }
            while end > start, isSpace(field[end - 1]) { end -= 1 }
            let valueStart = start + name.count + 1
            guard valueStart <= end, field[valueStart - 1] == UInt8(ascii: "="),
                ASCII.equals(field.extracting(start..<valueStart - 1), name)
            else { continue }
            return valueStart..<end
        }
        return nil
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
