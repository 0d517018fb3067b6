/// Hexadecimal text (RFC 4648 section 8), written in lower case, read in either case.
public enum Hex {
    @inlinable
    public static func digit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? nibble + 0x30 : nibble + 0x57
    }

    /// The value of one hexadecimal digit, nil for any other byte.
    @inlinable
    public static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x37
        case 0x61...0x66: digit - 0x57
        default: nil
        }
    }

    public static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 0xF))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The eight digits of the low 32 bits of `word`, the last one least significant. Four bits are
    /// spread to a byte, and values from ten on get the distance from `9` to `a` added.
    @inline(__always)
    static func digits(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var nibbles = (word &<< 16 | word) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles &<< 8 | nibbles) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles &<< 4 | nibbles) & 0x0F0F_0F0F_0F0F_0F0F
        let letters = ((nibbles &+ ones &* 6) &>> 4) & ones
        return nibbles &+ ones &* 0x30 &+ letters &* 0x27
    }

    /// Encodes `word` in sixteen digits.
    public static func encode(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    /// Decodes hexadecimal digits. Nil for an odd number of digits, or for any other character.
    public static func decode(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}
