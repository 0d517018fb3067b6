/// Numeric addresses as text: 4 bytes for IPv4, 16 for IPv6.
public enum IPAddress {
    public static func bytes(_ text: String) -> [UInt8]? { bytes(Array(text.utf8)[...]) }

    /// Parses a numeric address into 4 or 16 bytes. Nil for anything but exactly one address.
    public static func bytes(_ text: ArraySlice<UInt8>) -> [UInt8]? { ipv4(text) ?? ipv6(text) }

    /// Parses four decimal numbers. Leading zeros are refused, because some programs read them as
    /// octal.
    public static func ipv4(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count <= 15 else { return nil }
        let parts = text.split(separator: 0x2E, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            guard part.count <= 3, part.count == 1 || part.first != 0x30,
                let number = ASCII.decimal(Array(part).span), let byte = UInt8(exactly: number)
            else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    /// Parses all three forms of RFC 4291 section 2.2, without a zone.
    public static func ipv6(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let text = Array(text)
        guard text.count >= 2, text.count <= 45 else { return nil }
        guard let gap = doubleColon(text) else {
            guard let bytes = groups(text[...]), bytes.count == 16 else { return nil }
            return bytes
        }
        let tail = text[(gap + 2)...]
        guard let head = groups(text[..<gap]), let end = groups(tail) else { return nil }
        guard head.count + end.count <= 14, doubleColon(Array(tail)) == nil else { return nil }
        // An IPv4 part may only be the last one.
        guard !text[..<gap].contains(0x2E) else { return nil }
        return head + [UInt8](repeating: 0, count: 16 - head.count - end.count) + end
    }

    private static func doubleColon(_ text: [UInt8]) -> Int? {
        text.indices.dropLast().first { text[$0] == 0x3A && text[$0 + 1] == 0x3A }
    }

    private static func groups(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        var bytes: [UInt8] = []
        let parts = text.split(separator: 0x3A, omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if index == parts.count - 1, part.contains(0x2E) {
                guard let ipv4 = ipv4(part) else { return nil }
                bytes += ipv4
                continue
            }
            guard (1...4).contains(part.count) else { return nil }
            var group: UInt16 = 0
            for digit in part {
                guard let value = Hex.value(digit) else { return nil }
                group = group << 4 | UInt16(value)
            }
            bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
        }
        return bytes
    }

    /// The canonical text (RFC 5952 section 4 for IPv6).
    public static func text(_ bytes: [UInt8]) -> String {
        guard bytes.count == 16 else { return bytes.map(String.init).joined(separator: ".") }
        let groups = (0..<8).map { index -> UInt16 in
            UInt16(bytes[index * 2]) << 8 | UInt16(bytes[index * 2 + 1])
        }
        let gap = longestZeroRun(groups)
        let texts = groups.map { String($0, radix: 16) }
        guard let gap else { return texts.joined(separator: ":") }
        return texts[..<gap.lowerBound].joined(separator: ":") + "::"
            + texts[gap.upperBound...].joined(separator: ":")
    }

    private static func longestZeroRun(_ groups: [UInt16]) -> Range<Int>? {
        var longest: Range<Int>?
        var start = 0
        for index in 0...groups.count where index == groups.count || groups[index] != 0 {
            if index - start >= 2, index - start > longest?.count ?? 0 { longest = start..<index }
            start = index + 1
        }
        return longest
    }
}
