/// Base64 as apps send it (RFC 4648 sections 4 and 5).
///
/// Decoding is strict but accepts either alphabet, with or without padding: iOS sends key ids in
/// the standard alphabet with padding, others in the URL alphabet without. Mixed alphabets, wrong
/// padding, white space and non-zero trailing bits are refused. So each value has exactly two
/// spellings that an attacker could choose between, not thousands.
public enum Base64 {
    /// The two digits in which the alphabets differ. The other ones come from the same sums.
    private struct Alphabet {
        /// The distance by which the digit of 62 lies below the byte after `9`.
        let loss: UInt64
        /// The distance by which the digit of 63 lies above that of 62, less one.
        let gain: UInt64

        static let standard = Alphabet(loss: 15, gain: 3)
        static let url = Alphabet(loss: 13, gain: 49)
    }

    /// 0...63 for a digit of either alphabet, plus ``standardMark`` for `+` `/` or ``urlMark`` for
    /// `-` `_`; both marks for other bytes.
    ///
    /// The marks are so high that the next digit of four shifts them out of the word.
    private static let values: [UInt32] = {
        var table = [UInt32](repeating: standardMark | urlMark, count: 256)
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8
        for (value, digit) in digits.enumerated() { table[Int(digit)] = UInt32(value) }
        table[0x2B] = 62 | standardMark
        table[0x2F] = 63 | standardMark
        table[0x2D] = 62 | urlMark
        table[0x5F] = 63 | urlMark
        return table
    }()

    private static let standardMark: UInt32 = 1 << 30
    private static let urlMark: UInt32 = 1 << 31

    /// The decoded bytes; nil if `text` is not strict base64.
    public static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard let (digitCount, byteCount) = counts(text) else { return nil }
        var isValid = true
        let decoded = [UInt8](capacity: byteCount) { output in
            isValid = decode(text, digitCount: digitCount, into: &output)
        }
        return isValid ? decoded : nil
    }

    /// Decodes into `storage`, whose memory is reused if it suffices. False, and then `storage` is
    /// empty, if `text` is not strict base64 of at most `byteCountMax` bytes.
    public static func decode(
        _ text: Span<UInt8>, atMost byteCountMax: Int, into storage: inout [UInt8]
    ) -> Bool {
        if !storage.isEmpty { storage.removeAll(keepingCapacity: true) }
        guard let (digitCount, byteCount) = counts(text), byteCount <= byteCountMax else {
            return false
        }
        var isValid = true
        storage.append(addingCapacity: byteCount) { output in
            isValid = decode(text, digitCount: digitCount, into: &output)
        }
        if !isValid { storage.removeAll(keepingCapacity: true) }
        return isValid
    }

    /// Calls `use` with the decoded bytes, which take no memory on the heap and are valid during
    /// the call; nil if `text` is not strict base64 of at most 256 bytes.
    public static func withDecoded<Result>(
        _ text: Span<UInt8>, _ use: (Span<UInt8>) -> Result?
    ) -> Result? {
        guard let (digitCount, byteCount) = counts(text), byteCount <= temporaryCount else {
            return nil
        }
        return unsafe withUnsafeTemporaryAllocation(
            of: UInt8.self, capacity: temporaryCount
        ) { memory in
            var output = unsafe OutputSpan(buffer: memory, initializedCount: 0)
            guard decode(text, digitCount: digitCount, into: &output) else { return nil }
            return use(output.span)
        }
    }

    /// The decoded bytes, such as a digest or key id, without memory on the heap; nil if `text` is
    /// not strict base64 of exactly 32 bytes.
    public static func decode32(_ text: Span<UInt8>) -> Bytes32? {
        guard let (_, byteCount) = counts(text), byteCount == Bytes32.byteCount else {
            return nil
        }
        return withDecoded(text) { Bytes32($0) }
    }

    /// The number of digits before the padding, and the number of bytes that they encode.
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

    /// Decodes eight digits at a time. Faults in any of them are checked once, at the end, because
    /// this runs over every byte of a signed request's headers.
    private static func decode(
        _ text: Span<UInt8>, digitCount: Int, into output: inout OutputSpan<UInt8>
    ) -> Bool {
        let table = values.span
        precondition(digitCount <= text.count && table.count == 256)
        var marks: UInt32 = 0
        var index = 0
        while index &+ 8 <= digitCount {
            let digits = text.littleEndianWord(at: index)
            let upper = value(ofFour: UInt32(truncatingIfNeeded: digits), table, &marks)
            let lower = value(ofFour: UInt32(truncatingIfNeeded: digits &>> 32), table, &marks)
            output.append(
                bigEndian: UInt64(upper) &<< 24 | UInt64(lower & 0xFF_FFFF), byteCount: 6)
            index &+= 8
        }
        return decodeRest(text, from: index, to: digitCount, marks, table, into: &output)
    }

    /// The 24 bits of four digits, the first in the lowest byte, below the marks of the last one;
    /// `table` has 256 entries.
    @inline(__always)
    private static func value(
        ofFour digits: UInt32, _ table: Span<UInt32>, _ marks: inout UInt32
    ) -> UInt32 {
        let first = unsafe table[unchecked: Int(truncatingIfNeeded: digits & 0xFF)]
        let second = unsafe table[unchecked: Int(truncatingIfNeeded: digits &>> 8 & 0xFF)]
        let third = unsafe table[unchecked: Int(truncatingIfNeeded: digits &>> 16 & 0xFF)]
        let fourth = unsafe table[unchecked: Int(truncatingIfNeeded: digits &>> 24)]
        marks |= first | second | third | fourth
        return first &<< 18 | second &<< 12 | third &<< 6 | fourth
    }

    /// Decodes the last digits, whose spare bits must be zero. Then the marks must agree: a byte
    /// that is no digit has left both.
    private static func decodeRest(
        _ text: Span<UInt8>, from start: Int, to end: Int, _ marks: UInt32, _ table: Span<UInt32>,
        into output: inout OutputSpan<UInt8>
    ) -> Bool {
        var alphabets = marks
        var group: UInt32 = 0
        var bitCount: UInt32 = 0
        for index in start..<end {
            let value = table[Int(text[index])]
            alphabets |= value
            group = group &<< 6 | (value & 0x3F)
            bitCount &+= 6
            guard bitCount >= 8 else { continue }
            bitCount &-= 8
            output.append(UInt8(truncatingIfNeeded: group &>> bitCount))
        }
        let spare = group & ((1 &<< bitCount) &- 1)
        let hasBoth = alphabets & standardMark != 0 && alphabets & urlMark != 0
        return !hasBoth && spare == 0
    }

    public static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8).span) }

    /// Encodes in the standard alphabet, with padding.
    public static func encode(_ bytes: [UInt8]) -> String {
        String(decoding: encode(bytes.span, .standard, padded: true), as: UTF8.self)
    }

    /// Encodes in the URL alphabet, without padding.
    public static func encodeURL(_ bytes: [UInt8]) -> String {
        String(decoding: encodeURLBytes(bytes), as: UTF8.self)
    }

    /// Encodes in the standard alphabet, with padding, as ASCII bytes.
    public static func encodeBytes(_ bytes: [UInt8]) -> [UInt8] {
        encode(bytes.span, .standard, padded: true)
    }

    /// Encodes in the URL alphabet, without padding, as ASCII bytes.
    public static func encodeURLBytes(_ bytes: [UInt8]) -> [UInt8] {
        encode(bytes.span, .url, padded: false)
    }

    /// Appends the standard alphabet's digits of `bytes`, with padding.
    public static func append(_ bytes: Bytes32, to output: inout ByteBuffer) {
        output.append(byteCount: (Bytes32.byteCount + 2) / 3 * 4) { output in
            bytes.withBytes {
                encode($0, .standard, padded: true, to: &output)
            }
        }
    }

    /// Calls `use` with the URL alphabet's digits, unpadded, without memory on the heap.
    public static func withURL<Result>(
        _ bytes: Bytes32, _ use: (Span<UInt8>) -> Result
    ) -> Result {
        bytes.withBytes { withURL($0, use) }
    }

    /// Calls `use` with the URL alphabet's digits, unpadded, without memory on the heap.
    public static func withURL<Result>(
        _ bytes: Bytes16, _ use: (Span<UInt8>) -> Result
    ) -> Result {
        bytes.withBytes { withURL($0, use) }
    }

    private static func withURL<Result>(
        _ bytes: Span<UInt8>, _ use: (Span<UInt8>) -> Result
    ) -> Result {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: temporaryCount) { memory in
            var output = unsafe OutputSpan(buffer: memory, initializedCount: 0)
            encode(bytes, .url, padded: false, to: &output)
            return use(output.span)
        }
    }

    /// Appends the URL alphabet's digits, unpadded, of at most 256 bytes that `fill` writes.
    public static func appendURL(
        to output: inout ByteBuffer, _ fill: (inout OutputSpan<UInt8>) -> Void
    ) {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: temporaryCount) { memory in
            var raw = unsafe OutputSpan(buffer: memory, initializedCount: 0)
            fill(&raw)
            let bytes = raw.span
            output.append(byteCount: (bytes.count + 2) / 3 * 4) { output in
                encode(bytes, .url, padded: false, to: &output)
            }
        }
    }

    /// The most bytes that are encoded without memory on the heap.
    private static let temporaryCount = 256

    private static func encode(
        _ bytes: Span<UInt8>, _ alphabet: Alphabet, padded: Bool
    ) -> [UInt8] {
        [UInt8](capacity: (bytes.count + 2) / 3 * 4) { output in
            encode(bytes, alphabet, padded: padded, to: &output)
        }
    }

    private static func encode(
        _ bytes: Span<UInt8>, _ alphabet: Alphabet, padded: Bool,
        to output: inout OutputSpan<UInt8>
    ) {
        var index = 0
        // Six bytes, and the two behind them, from one load.
        while index &+ 8 <= bytes.count {
            output.append(bigEndian: digits(ofUpper: bytes.bigEndianWord(at: index), alphabet))
            index &+= 6
        }
        while index < bytes.count {
            let byteCount = min(6, bytes.count &- index)
            var word: UInt64 = 0
            for offset in 0..<byteCount {
                word = word &<< 8 | UInt64(bytes[index &+ offset])
            }
            let digitCount = (byteCount &* 8 &+ 5) / 6
            let text = digits(ofUpper: word &<< UInt64(64 &- byteCount &* 8), alphabet)
            output.append(
                bigEndian: text &>> UInt64(64 &- digitCount &* 8), byteCount: digitCount)
            index &+= byteCount
        }
        guard padded else { return }
        switch bytes.count % 3 {
        case 1: output.append(bigEndian: 0x3D3D, byteCount: 2)
        case 2: output.append(0x3D)
        default: break
        }
    }

    /// The digits of the upper 48 bits, eight at once: one byte for each, whose value becomes its
    /// digit by adding the offsets of the alphabet's ranges. No byte of the sums exceeds 183, so
    /// none carries into the next.
    @inline(__always)
    private static func digits(ofUpper word: UInt64, _ alphabet: Alphabet) -> UInt64 {
        let halves = word &>> 8 & 0x00FF_FFFF_0000_0000 | word &>> 16 & 0xFF_FFFF
        let quarters = halves &<< 4 & 0x0FFF_0000_0FFF_0000 | halves & 0x0000_0FFF_0000_0FFF
        let values = quarters &<< 2 & 0x3F00_3F00_3F00_3F00 | quarters & 0x003F_003F_003F_003F
        let raised =
            values &+ 65 &* ones &+ 6 &* marks(values, from: 26)
            &+ alphabet.gain &* marks(values, from: 63)
        return raised &- 75 &* marks(values, from: 52) &- alphabet.loss &* marks(values, from: 62)
    }

    /// A one in each byte whose value, below 64, is at least `least`.
    @inline(__always)
    private static func marks(_ values: UInt64, from least: UInt64) -> UInt64 {
        (values &+ (0x80 &- least) &* ones) &>> 7 & ones
    }

    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
}
