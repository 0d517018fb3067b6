import Bytes

/// Checks that bytes are DER (X.690 sections 10 and 11) all the way down, whatever they mean.
///
/// Tags and lengths must be in their shortest form, without indefinite lengths; sequences and sets
/// must hold whole elements, and strings must be in one piece. BOOLEAN must be 00 or FF, INTEGER
/// and the arcs of OBJECT IDENTIFIER in their shortest form, NULL empty, unused bits of a BIT
/// STRING not set, and times to the second and in UTC (RFC 5280 section 4.1.2.5). Not checked are
/// the order in a SET, defaults that are spelled out, and the content of strings.
enum DERForm {
    /// The deepest nesting. Certificates are not half as deep.
    private static let depthMax = 32

    static func isStrict(_ bytes: Span<UInt8>) -> Bool { areStrict(bytes, depth: 0) }

    /// True if the bytes are one element in that form.
    static func isOneStrict(_ bytes: Span<UInt8>) -> Bool {
        var reader = ByteReader(bytes)
        guard let first = reader.readByte(), tagNumber(first, &reader) != nil,
            let byteCount = length(&reader), reader.readSpan(byteCount: byteCount) != nil
        else { return false }
        return reader.isAtEnd && isStrict(bytes)
    }

    private static func areStrict(_ bytes: Span<UInt8>, depth: Int) -> Bool {
        guard depth < depthMax else { return false }
        var reader = ByteReader(bytes)
        while !reader.isAtEnd {
            guard let first = reader.readByte(), let number = tagNumber(first, &reader),
                let byteCount = length(&reader),
                let content = reader.readSpan(byteCount: byteCount)
            else { return false }
            let isConstructed = first & 0x20 != 0
            if first & 0xC0 == 0 {
                // In the universal class only sequences and sets have elements.
                guard isConstructed == (number == 16 || number == 17) else { return false }
                guard isConstructed || isStrict(content, universal: number) else { return false }
            }
            if isConstructed, !areStrict(content, depth: depth + 1) { return false }
        }
        return true
    }

    private static func tagNumber(_ first: UInt8, _ reader: inout ByteReader) -> UInt32? {
        guard first & 0x1F == 0x1F else { return UInt32(first & 0x1F) }
        var number: UInt32 = 0
        for index in 0..<4 {
            guard let byte = reader.readByte(), index > 0 || byte != 0x80 else { return nil }
            number = number << 7 | UInt32(byte & 0x7F)
            if byte & 0x80 == 0 { return number >= 31 ? number : nil }
        }
        return nil
    }

    private static func length(_ reader: inout ByteReader) -> Int? {
        guard let first = reader.readByte() else { return nil }
        guard first >= 0x80 else { return Int(first) }
        let byteCount = Int(first & 0x7F)
        guard byteCount >= 1, byteCount <= 4,
            let length = reader.readInteger(byteCount: byteCount)
        else { return nil }
        let shortestMin: UInt64 = byteCount == 1 ? 0x80 : 1 << UInt64((byteCount - 1) * 8)
        return length >= shortestMin ? Int(length) : nil
    }

    private static func isStrict(_ content: Span<UInt8>, universal number: UInt32) -> Bool {
        switch number {
        // End-of-contents belongs to indefinite lengths only.
        case 0: return false
        case 1: return content.count == 1 && (content[0] == 0 || content[0] == 0xFF)
        case 2, 10: return isShortest(content)
        case 3:
            guard let unusedCount = content.isEmpty ? nil : content[0], unusedCount < 8 else {
                return false
            }
            guard content.count > 1 else { return unusedCount == 0 }
            return content[content.count - 1] & (1 << unusedCount - 1) == 0
        case 5: return content.isEmpty
        case 6: return areArcs(content)
        case 23: return isTime(content, digitCount: 12)
        case 24: return isTime(content, digitCount: 14)
        default: return true
        }
    }

    /// True for two's complement without a redundant byte.
    private static func isShortest(_ content: Span<UInt8>) -> Bool {
        guard content.count > 1 else { return content.count == 1 }
        let sign = content[1] & 0x80
        return !(content[0] == 0 && sign == 0) && !(content[0] == 0xFF && sign != 0)
    }

    private static func isTime(_ content: Span<UInt8>, digitCount: Int) -> Bool {
        guard content.count == digitCount + 1, content[digitCount] == 0x5A else { return false }
        for index in 0..<digitCount where content[index] < 0x30 || content[index] > 0x39 {
            return false
        }
        return true
    }

    private static func areArcs(_ content: Span<UInt8>) -> Bool {
        var isFirst = true
        for index in content.indices {
            if isFirst, content[index] == 0x80 { return false }
            isFirst = content[index] & 0x80 == 0
        }
        return isFirst && !content.isEmpty
    }
}
