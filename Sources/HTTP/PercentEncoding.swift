import Bytes

/// `%` and two hexadecimal digits (RFC 3986 section 2.1).
package enum PercentEncoding {
    /// A text in a path or query: all bytes but the unreserved ones (section 2.3) are encoded.
    package static func text(_ text: String) -> String {
        var output: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: output.append(byte)
            default: append(byte, to: &output)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

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
