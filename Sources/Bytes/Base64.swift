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

    /// 0...63 for a digit of either alphabet, ``standardMark`` more for `+` `/`, ``urlMark`` for
    /// `-` `_`, both for what is no digit.
    ///
    /// The marks stand so high that the next digit of four shifts them out of the word.
    private static let values: [UInt32] = {
        var table = [UInt32](repeating: standardMark | urlMark, count: 256)
        for (value, digit) in standardAlphabet.enumerated() { table[Int(digit)] = UInt32(value) }
        table[0x2B] = 62 | standardMark
        table[0x2F] = 63 | standardMark
        table[0x2D] = 62 | urlMark
        table[0x5F] = 63 | urlMark
        return table
    }()

    private static let standardMark: UInt32 = 1 << 30
    private static let urlMark: UInt32 = 1 << 31

    /// The decoded bytes, nil if `text` is not strict base64.
    public static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        guard let (digitCount, byteCount) = counts(text) else { return nil }
        var isValid = true
        let decoded = [UInt8](capacity: byteCount) { output in
            isValid = decode(text, digitCount: digitCount, into: &output)
        }
        return isValid ? decoded : nil
    }

    /// Puts the decoded bytes into `storage`, in the memory there is where it suffices; false, and
    /// nothing of use in it, if `text` is not strict base64 of at most `byteCountMax` bytes.
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
        return isValid
    }

    /// Gives the decoded bytes to `use`, for as long as that takes and without memory on the heap;
    /// nil if `text` is not strict base64 of at most 256 bytes.
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

    /// The decoded bytes, nil if `text` is not strict base64 of exactly 32 bytes: a digest or key
    /// id, which takes no memory of its own.
    public static func decode32(_ text: Span<UInt8>) -> Bytes32? {
        guard let (_, byteCount) = counts(text), byteCount == Bytes32.byteCount else {
            return nil
        }
        return withDecoded(text) { Bytes32($0) }
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

    /// Eight digits at a time. What is wrong with any of them is looked at once, at the end: this
    /// runs over every byte of what a signed request brings.
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
    /// `table` has 256.
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

    /// The last digits, whose spare bits must be zero; then the marks must agree: a byte that is no
    /// digit has left both.
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

    /// Appends the standard alphabet's digits of `bytes`, with padding.
    public static func append(_ bytes: Bytes32, to output: inout ByteBuffer) {
        output.append(byteCount: (Bytes32.byteCount + 2) / 3 * 4) { output in
            bytes.withBytes {
                encode($0, standardAlphabet.span, padded: true, to: &output)
            }
        }
    }

    /// Gives the URL alphabet's digits, unpadded, to `use`, without memory on the heap.
    public static func withURL<Result>(
        _ bytes: Bytes32, _ use: (Span<UInt8>) -> Result
    ) -> Result {
        bytes.withBytes { withURL($0, use) }
    }

    /// Gives the URL alphabet's digits, unpadded, to `use`, without memory on the heap.
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
            encode(bytes, urlAlphabet.span, padded: false, to: &output)
            return use(output.span)
        }
    }

    /// Appends the URL alphabet's digits, unpadded, of the 256 bytes at most that `fill` writes.
    public static func appendURL(
        to output: inout ByteBuffer, _ fill: (inout OutputSpan<UInt8>) -> Void
    ) {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: temporaryCount) { memory in
            var raw = unsafe OutputSpan(buffer: memory, initializedCount: 0)
            fill(&raw)
            let bytes = raw.span
            output.append(byteCount: (bytes.count + 2) / 3 * 4) { output in
                encode(bytes, urlAlphabet.span, padded: false, to: &output)
            }
        }
    }

    /// What needs no memory on the heap has at most so many bytes.
    private static let temporaryCount = 256

    private static func encode(
        _ bytes: Span<UInt8>, _ alphabet: Span<UInt8>, padded: Bool
    ) -> [UInt8] {
        [UInt8](capacity: (bytes.count + 2) / 3 * 4) { output in
            encode(bytes, alphabet, padded: padded, to: &output)
        }
    }

    private static func encode(
        _ bytes: Span<UInt8>, _ alphabet: Span<UInt8>, padded: Bool,
        to output: inout OutputSpan<UInt8>
    ) {
        var index = 0
        // Six bytes and the two behind them from one load.
        while index &+ 8 <= bytes.count {
            append(bytes.bigEndianWord(at: index), alphabet, to: &output)
            index &+= 6
        }
        while index &+ 3 <= bytes.count {
            let group =
                UInt32(bytes[index]) &<< 16 | UInt32(bytes[index &+ 1]) &<< 8
                | UInt32(bytes[index &+ 2])
            append(group: group, alphabet, to: &output)
            index &+= 3
        }
        guard index < bytes.count else { return }
        let hasTwo = index &+ 1 < bytes.count
        var group = UInt32(bytes[index]) &<< 16
        if hasTwo { group |= UInt32(bytes[index &+ 1]) &<< 8 }
        output.append(alphabet[Int(group &>> 18)])
        output.append(alphabet[Int(group &>> 12 & 0x3F)])
        if hasTwo { output.append(alphabet[Int(group &>> 6 & 0x3F)]) }
        if padded { for _ in (hasTwo ? 2 : 1)..<3 { output.append(0x3D) } }
    }

    /// Eight digits of the upper 48 bits.
    @inline(__always)
    private static func append(
        _ word: UInt64, _ alphabet: Span<UInt8>, to output: inout OutputSpan<UInt8>
    ) {
        precondition(alphabet.count == 64)
        var digits: UInt64 = 0
        var shift: UInt64 = 58
        while shift >= 16 {
            let value = Int(truncatingIfNeeded: word &>> shift & 0x3F)
            digits = digits &<< 8 | UInt64(unsafe alphabet[unchecked: value])
            shift &-= 6
        }
        output.append(bigEndian: digits)
    }

    /// Four digits of 24 bits.
    @inline(__always)
    private static func append(
        group: UInt32, _ alphabet: Span<UInt8>, to output: inout OutputSpan<UInt8>
    ) {
        precondition(alphabet.count == 64 && output.freeCapacity >= 4)
        let first = UInt32(unsafe alphabet[unchecked: Int(group &>> 18 & 0x3F)])
        let second = UInt32(unsafe alphabet[unchecked: Int(group &>> 12 & 0x3F)])
        let third = UInt32(unsafe alphabet[unchecked: Int(group &>> 6 & 0x3F)])
        let fourth = UInt32(unsafe alphabet[unchecked: Int(group & 0x3F)])
        let digits = first | second &<< 8 | third &<< 16 | fourth &<< 24
        unsafe output.withUnsafeMutableBufferPointer { memory, count in
            unsafe UnsafeMutableRawBufferPointer(memory).storeBytes(
                of: digits.littleEndian, toByteOffset: count, as: UInt32.self)
            count &+= 4
        }
    }
}
