import Bytes

/// `%` and two hexadecimal digits (RFC 3986 section 2.1).
enum PercentEncoding {
    /// The byte that the three bytes at `index` encode; nil if they are no encoding.
    @inline(__always)
    static func byte(in bytes: Span<UInt8>, at index: Int) -> UInt8? {
        guard index >= 0, bytes.count - index >= 3, bytes[index] == ASCIIByte.percent,
            let high = Hex.value(bytes[index + 1]), let low = Hex.value(bytes[index + 2])
        else { return nil }
        return high << 4 | low
    }

    static func append(_ byte: UInt8, to output: inout [UInt8]) {
        output.append(ASCIIByte.percent)
        output.append(upperDigit(byte >> 4))
        output.append(upperDigit(byte & 0xF))
    }

    /// The hexadecimal digit in upper case, as RFC 3986 section 6.2.2.1 wants the normal form.
    private static func upperDigit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? nibble + 0x30 : nibble + 0x37
    }
}
