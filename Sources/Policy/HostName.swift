import Bytes

/// The one spelling of a host on which routes match.
///
/// The port is left out, letters are in lower case, one final period is gone, and an IPv6 address
/// is eight groups of four digits in brackets.
enum HostName {
    /// The limit of RFC 1035 section 2.3.4, with a final period.
    static let byteCountMax = 254

    typealias Storage = InlineArray<254, UInt8>

    /// Writes the normal form of `authority`, the value of Host, to `storage`.
    ///
    /// - Returns: its length; nil if no pattern can cover it.
    static func normalize(_ authority: Span<UInt8>, into storage: inout Storage) -> Int? {
        guard !authority.isEmpty else { return nil }
        if authority[0] == UInt8(ascii: "[") { return normalizeAddress(authority, &storage) }
        var count = 0
        while count < authority.count, authority[count] != UInt8(ascii: ":") {
            guard count < byteCountMax else { return nil }
            storage[count] = ASCII.lowercased(authority[count])
            count += 1
        }
        if count > 1, storage[count - 1] == UInt8(ascii: ".") { count -= 1 }
        return count > 0 ? count : nil
    }

    static func normalized(_ authority: Span<UInt8>) -> String? {
        var storage = Storage(repeating: 0)
        guard let count = normalize(authority, into: &storage) else { return nil }
        return String(decoding: (0..<count).map { storage[$0] }, as: UTF8.self)
    }

    private static func normalizeAddress(
        _ authority: Span<UInt8>, _ storage: inout Storage
    ) -> Int? {
        guard let groups = groups(authority) else { return nil }
        var count = 0
        func append(_ byte: UInt8) {
            storage[count] = byte
            count += 1
        }
        append(UInt8(ascii: "["))
        for index in 0..<8 {
            if index > 0 { append(UInt8(ascii: ":")) }
            for shift in [12, 8, 4, 0] {
                let digit = UInt8(truncatingIfNeeded: groups[index] >> UInt16(shift)) & 15
                append(digit < 10 ? 0x30 + digit : 0x57 + digit)
            }
        }
        append(UInt8(ascii: "]"))
        return count
    }

    /// The groups of the address in brackets at the start; nil if there is none (RFC 4291 section
    /// 2.2).
    private static func groups(_ text: Span<UInt8>) -> InlineArray<8, UInt16>? {
        var parts: [UInt16] = []
        var gap: Int?
        var index = 1
        if index + 1 < text.count, text[index] == UInt8(ascii: ":") {
            guard text[index + 1] == UInt8(ascii: ":") else { return nil }
            gap = 0
            index += 2
        }
        while index < text.count, text[index] != UInt8(ascii: "]") {
            let start = index
            var group = 0
            while index < text.count, let digit = Hex.value(text[index]) {
                group = group << 4 | Int(digit)
                index += 1
                guard index - start <= 4 else { return nil }
            }
            guard index < text.count else { return nil }
            if text[index] == UInt8(ascii: ".") {
                guard let last = dotted(text, from: start, to: &index) else { return nil }
                parts += last
                break
            }
            guard index > start else { return nil }
            parts.append(UInt16(group))
            guard text[index] == UInt8(ascii: ":") else { break }
            index += 1
            guard index < text.count, text[index] != UInt8(ascii: "]") else { return nil }
            if text[index] == UInt8(ascii: ":") {
                guard gap == nil else { return nil }
                gap = parts.count
                index += 1
            }
        }
        guard index < text.count, text[index] == UInt8(ascii: "]") else { return nil }
        guard gap == nil ? parts.count == 8 : parts.count < 8 else { return nil }
        let gapStart = gap ?? parts.count
        let gapCount = 8 - parts.count
        return InlineArray<8, UInt16> { index in
            if index < gapStart { return parts[index] }
            return index < gapStart + gapCount ? 0 : parts[index - gapCount]
        }
    }

    /// Reads two groups out of four decimal numbers.
    private static func dotted(
        _ text: Span<UInt8>, from start: Int, to end: inout Int
    ) -> [UInt16]? {
        var numbers: [UInt16] = []
        var index = start
        while numbers.count < 4 {
            if !numbers.isEmpty {
                guard index < text.count, text[index] == UInt8(ascii: ".") else { return nil }
                index += 1
            }
            let first = index
            while index < text.count, index - first < 3, text[index] &- 0x30 < 10 { index += 1 }
            guard let number = ASCII.decimal(text.extracting(first..<index)), number <= 255 else {
                return nil
            }
            numbers.append(UInt16(number))
        }
        end = index
        return [numbers[0] << 8 | numbers[1], numbers[2] << 8 | numbers[3]]
    }
}
