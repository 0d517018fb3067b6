/// Hexadecimal digits of either case.
enum Hexadecimal {
    @inline(__always)
    static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit &- 0x30
        case 0x41...0x46: digit &- 0x37
        case 0x61...0x66: digit &- 0x57
        default: nil
        }
    }

    static func upperDigit(_ value: UInt8) -> UInt8 { value < 10 ? value + 0x30 : value + 0x37 }
}

/// `%` and two hexadecimal digits (RFC 3986 section 2.1).
enum PercentEncoding {
    /// The byte that the three bytes at `index` stand for; nil when they are no encoding.
    @inline(__always)
    static func byte(in bytes: Span<UInt8>, at index: Int) -> UInt8? {
        guard index >= 0, bytes.count - index >= 3, bytes[index] == ASCIIByte.percent,
            let high = Hexadecimal.value(bytes[index + 1]),
            let low = Hexadecimal.value(bytes[index + 2])
        else { return nil }
        return high << 4 | low
    }
}
