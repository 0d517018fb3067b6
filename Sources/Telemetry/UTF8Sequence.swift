/// One multi-byte character of UTF-8, or the bytes that one U+FFFD stands for (the Unicode
/// Standard, table 3-7 and "maximal subpart of an ill-formed sequence").
struct UTF8Sequence {
    /// At least 1.
    let byteCount: Int
    let isValid: Bool
    /// U+0080 to U+009F.
    let isControl: Bool

    /// `bytes[start]` is 0x80 or higher.
    init(_ bytes: Span<UInt8>, at start: Int) {
        let lead = bytes[start]
        let continuationCount: Int
        // Only the second byte's range depends on the lead: no overlong form, no surrogate,
        // nothing above U+10FFFF.
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: continuationCount = 1
        case 0xE0...0xEF:
            continuationCount = 2
            if lead == 0xE0 { second = 0xA0...0xBF }
            if lead == 0xED { second = 0x80...0x9F }
        case 0xF0...0xF4:
            continuationCount = 3
            if lead == 0xF0 { second = 0x90...0xBF }
            if lead == 0xF4 { second = 0x80...0x8F }
        default: continuationCount = 0
        }
        var taken = 0
        while taken < continuationCount, start + taken + 1 < bytes.count {
            let allowed = taken == 0 ? second : 0x80...0xBF
            guard allowed.contains(bytes[start + taken + 1]) else { break }
            taken += 1
        }
        byteCount = taken + 1
        isValid = continuationCount > 0 && taken == continuationCount
        isControl = isValid && lead == 0xC2 && bytes[start + 1] < 0xA0
    }
}
