/// Base64 as apps send it (RFC 4648 sections 4 and 5).
///
/// Reading is strict but takes either alphabet, with or without padding: iOS sends key ids in the
/// standard alphabet with padding, others in the URL alphabet without. Mixed alphabets, wrong
/// padding, white space and non-zero trailing bits are refused, so that each value has exactly two
/// spellings an attacker could choose between, not thousands.
public enum Base64 {
    private static let standardAlphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlAlphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// 0...63 for a digit of either alphabet, 0x40 more for `+` `/`, 0x80 for `-` `_`, 0xFF else.
    private static let values: [UInt8] = {
        var table = [UInt8](repeating: 0xFF, count: 256)
        for (value, digit) in standardAlphabet.enumerated() { table[Int(digit)] = UInt8(value) }
        table[0x2B] = 62 | 0x40
        table[0x2F] = 63 | 0x40
        table[0x2D] = 62 | 0x80
        table[0x5F] = 63 | 0x80
        return table
    }()

    /// The decoded bytes, nil if `text` is not strict base64.
    public static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard let (digitCount, byteCount) = counts(text) else { return nil }
        var isValid = true
        let decoded = [UInt8](capacity: byteCount) { output in
            isValid = decode(text, digitCount: digitCount, into: &output)
        }
        return isValid ? decoded : nil
    }

    /// The decoded bytes, nil if `text` is not strict base64 of exactly 32 bytes: a digest or key
    /// id, which takes no memory of its own.
    public static func decode32(_ text: Span<UInt8>) -> Bytes32? {
        guard let (digitCount, byteCount) = counts(text), byteCount == Bytes32.byteCount else {
            return nil
        }
        return unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: byteCount) { memory in
            var output = unsafe OutputSpan(buffer: memory, initializedCount: 0)
            guard decode(text, digitCount: digitCount, into: &output) else { return nil }
            return Bytes32(output.span)
        }
    }

    /// How many digits there are before the padding, and how many bytes they stand for.
    private static func counts(_ text: Span<UInt8>) -> (digits: Int, bytes: Int)? {
        var digitCount = text.count
        while digitCount > 0, text.count - digitCount < 2, text[digitCount - 1] == 0x3D {
            digitCount -= 1
        }
        let paddingCount = text.count - digitCount
        let remainder = digitCount & 3
        guard remainder != 1 else { return nil }
        if paddingCount > 0 {
            guard text.count.isMultiple(of: 4) else { return nil }
        }
        return (digitCount, digitCount / 4 * 3 + (remainder == 0 ? 0 : remainder - 1))
    }

    private static func decode(
        _ text: Span<UInt8>, digitCount: Int, into output: inout OutputSpan<UInt8>
    ) -> Bool {
        let table = values.span
        precondition(digitCount <= text.count && table.count == 256)
        var marks: UInt8 = 0
        var index = 0
        let wholeCount = digitCount & ~3
        // Four digits at a time, and what is wrong with any of them is looked at once, at the end:
        // this runs over every byte of what a signed request brings.
        while index < wholeCount {
            let first = unsafe table[unchecked: Int(text[unchecked: index])]
            let second = unsafe table[unchecked: Int(text[unchecked: index &+ 1])]
            let third = unsafe table[unchecked: Int(text[unchecked: index &+ 2])]
            let fourth = unsafe table[unchecked: Int(text[unchecked: index &+ 3])]
            marks |= first | second | third | fourth
            output.append(first &<< 2 | (second &>> 4) & 0x03)
            output.append(second &<< 4 | (third &>> 2) & 0x0F)
            output.append(third &<< 6 | fourth & 0x3F)
            index &+= 4
        }
        return decodeRest(text, from: wholeCount, to: digitCount, marks, into: &output)
    }

    /// The last two or three digits, whose spare bits must be zero; then the marks must agree: a
    /// byte that is no digit has left both.
    private static func decodeRest(
        _ text: Span<UInt8>, from start: Int, to end: Int, _ marks: UInt8,
        into output: inout OutputSpan<UInt8>
    ) -> Bool {
        var alphabets = marks
        var group: UInt32 = 0
        for index in start..<end {
            let value = values[Int(text[index])]
            alphabets |= value
            group = group << 6 | UInt32(value & 0x3F)
        }
        guard alphabets & 0xC0 != 0xC0 else { return false }
        switch end - start {
        case 2:
            guard group & 0xF == 0 else { return false }
            output.append(UInt8(truncatingIfNeeded: group >> 4))
        case 3:
            guard group & 0x3 == 0 else { return false }
            output.append(UInt8(truncatingIfNeeded: group >> 10))
            output.append(UInt8(truncatingIfNeeded: group >> 2))
        default: break
        }
        return true
    }

    public static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8).span) }

    /// Standard alphabet with padding.
    public static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: encode(bytes.span, standardAlphabet.span, padded: true), as: UTF8.self)
    }

    /// URL alphabet without padding.
    public static func encodeURL(_ bytes: [UInt8]) -> String {
        String(decoding: encodeURLBytes(bytes), as: UTF8.self)
    }

    /// Standard alphabet with padding, as ASCII bytes.
    public static func encodeBytes(_ bytes: [UInt8]) -> [UInt8] {
        encode(bytes.span, standardAlphabet.span, padded: true)
    }

    /// URL alphabet without padding, as ASCII bytes.
    public static func encodeURLBytes(_ bytes: [UInt8]) -> [UInt8] {
        encode(bytes.span, urlAlphabet.span, padded: false)
    }

    private static func encode(
        _ bytes: Span<UInt8>, _ alphabet: Span<UInt8>, padded: Bool
    ) -> [UInt8] {
        [UInt8](capacity: (bytes.count + 2) / 3 * 4) { output in
            var index = 0
            while index < bytes.count {
                let taken = min(3, bytes.count - index)
                var group = UInt32(bytes[index]) << 16
                if taken > 1 { group |= UInt32(bytes[index + 1]) << 8 }
                if taken > 2 { group |= UInt32(bytes[index + 2]) }
                output.append(alphabet[Int(group &>> 18)])
                output.append(alphabet[Int(group &>> 12 & 0x3F)])
                if taken > 1 { output.append(alphabet[Int(group &>> 6 & 0x3F)]) }
                if taken > 2 { output.append(alphabet[Int(group & 0x3F)]) }
                if padded { for _ in taken..<3 { output.append(0x3D) } }
                index += taken
            }
        }
    }
}
