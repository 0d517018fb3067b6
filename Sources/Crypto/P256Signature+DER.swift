import Bytes

extension P256Signature {
    /// The longest encoding: two numbers of 33 bytes, with a tag and a length each, in a sequence.
    static let derByteCountMax = 72

    /// Parses a signature in DER (RFC 3279 section 2.2.3). Nil unless `der` is exactly one sequence
    /// of two INTEGERs, each in its one encoding, not negative and below 2^256.
    public init?(strictDER der: Span<UInt8>) {
        // Lengths up to this size fit in one byte.
        guard der.count <= Self.derByteCountMax else { return nil }
        var reader = ByteReader(der)
        guard reader.readByte() == 0x30, reader.readByte().map(Int.init) == der.count - 2,
            let r = Self.readNumber(&reader), let s = Self.readNumber(&reader), reader.isAtEnd
        else { return nil }
        self.init(r: r, s: s)
    }

    private static func readNumber(_ reader: inout ByteReader) -> Bytes32? {
        guard reader.readByte() == 0x02, let byteCount = reader.readByte(), byteCount >= 1,
            byteCount <= 33, let bytes = reader.readSpan(byteCount: Int(byteCount)),
            bytes[0] < 0x80
        else { return nil }
        // A leading zero is there only if the number would be negative without it.
        let isPadded = bytes.count > 1 && bytes[0] == 0
        guard !isPadded || bytes[1] >= 0x80, isPadded || bytes.count <= 32 else { return nil }
        let number = bytes.extracting((isPadded ? 1 : 0)..<bytes.count)
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        for index in 0..<number.count {
            words.0 = words.0 << 8 | words.1 >> 56
            words.1 = words.1 << 8 | words.2 >> 56
            words.2 = words.2 << 8 | words.3 >> 56
            words.3 = words.3 << 8 | UInt64(number[index])
        }
        return Bytes32(word0: words.0, word1: words.1, word2: words.2, word3: words.3)
    }
}
