import Bytes

/// Reads the values of fields `Cookie` (RFC 6265 section 4.2.1), as leniently as servers do.
public enum Cookie {
    /// The place of the next value of the cookie `name` in a field's value; nil if there is none.
    /// `offset` begins at 0, and moves on.
    ///
    /// Servers accept white space around names and values, and some accept a comma for a semicolon.
    /// Everything that any of them may read as this cookie is found, rather too often than not at
    /// all.
    public static func nextValue(
        named name: [UInt8], in field: Span<UInt8>, after offset: inout Int
    ) -> Range<Int>? {
        while offset < field.count {
            var place = offset
            while offset < field.count, !isSeparator(field[offset]) { offset += 1 }
            let pairEnd = offset
            offset += 1
            skipSpace(field, &place)
            guard place + name.count < pairEnd,
                ASCII.equals(field.extracting(place..<place + name.count), name)
            else { continue }
            place += name.count
            skipSpace(field, &place)
            guard place < pairEnd, field[place] == UInt8(ascii: "=") else { continue }
            place += 1
            skipSpace(field, &place)
            var end = pairEnd
            while end < field.count, field[end] != UInt8(ascii: ";") { end += 1 }
            while end > place, isSpace(field[end - 1]) { end -= 1 }
            return place..<max(place, end)
        }
        return nil
    }

    private static func skipSpace(_ field: Span<UInt8>, _ place: inout Int) {
        while place < field.count, isSpace(field[place]) { place += 1 }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ";") || byte == UInt8(ascii: ",")
    }
}
