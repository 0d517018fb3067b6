import Bytes

/// The serial number of a certificate: a number of at most 20 bytes (RFC 5280 section 4.1.2.2).
public struct CertificateSerial: Hashable, Sendable, CustomStringConvertible {
    /// The number with zeros in front.
    let number: Bytes32

    static let byteCountMax = 20

    /// Reads the contents of an INTEGER. Nil if the number is negative, too long, or not in its
    /// shortest form.
    init?(_ content: Span<UInt8>) {
        guard !content.isEmpty, content[0] < 0x80 else { return nil }
        let isPadded = content.count > 1 && content[0] == 0
        guard !isPadded || content[1] >= 0x80 else { return nil }
        let digits = content.extracting((isPadded ? 1 : 0)..<content.count)
        guard digits.count <= Self.byteCountMax, let number = Bytes32(bigEndian: digits) else {
            return nil
        }
        self.number = number
    }

    /// Reads a number in hexadecimal. Nil unless `hex` has 1 to 40 hexadecimal digits.
    public init?(hex: String) {
        guard (1...2 * Self.byteCountMax).contains(hex.utf8.count),
            let number = Bytes32(hexNumber: hex.utf8)
        else { return nil }
        self.number = number
    }

    /// Nil for a number of more than 20 bytes.
    init?(number: Bytes32) {
        let excess = Bytes32.byteCount - Self.byteCountMax
        guard number.array.prefix(excess).allSatisfy({ $0 == 0 }) else { return nil }
        self.number = number
    }

    /// The number in lower-case hexadecimal without leading zeros, as revocation lists name it.
    public var hex: String {
        let digits = Hex.encode(number.array).drop { $0 == "0" }
        return digits.isEmpty ? "0" : String(digits)
    }

    public var description: String { hex }
}

extension Bytes32 {
    /// The number that at most 32 bytes spell, the most significant first.
    init?(bigEndian bytes: Span<UInt8>) {
        guard bytes.count <= Bytes32.byteCount else { return nil }
        self.init([UInt8](repeating: 0, count: Bytes32.byteCount - bytes.count) + bytes.array)
    }

    /// The number that hexadecimal digits spell; nil for other characters, or beyond 256 bits.
    init?(hexNumber text: String.UTF8View) {
        self.init(digits: text, base: 16)
    }

    /// The number that decimal digits spell; nil for other characters, or beyond 256 bits.
    init?(decimalNumber text: String.UTF8View) {
        self.init(digits: text, base: 10)
    }

    private init?(digits text: String.UTF8View, base: UInt64) {
        guard !text.isEmpty else { return nil }
        var words: [UInt64] = [0, 0, 0, 0]
        for character in text {
            guard let digit = Hex.value(character), UInt64(digit) < base else { return nil }
            var carry = UInt64(digit)
            for index in words.indices.reversed() {
                let (high, low) = words[index].multipliedFullWidth(by: base)
                let (sum, overflow) = low.addingReportingOverflow(carry)
                words[index] = sum
                carry = high + (overflow ? 1 : 0)
            }
            guard carry == 0 else { return nil }
        }
        self.init(word0: words[0], word1: words[1], word2: words[2], word3: words[3])
    }
}
