import Bytes

/// The grammar `host [ ":" port ]` of RFC 3986 section 3.2, as in Host and in absolute-form
/// targets.
enum Authority {
    /// True for a valid authority. Stricter than the grammar if servers disagree: the host is not
    /// empty, a port is at most 65535 (or empty, which means the scheme's default), an address in
    /// brackets is IPv6 without a zone, and nothing is percent-encoded.
    static func isValid(_ bytes: Span<UInt8>) -> Bool {
        guard let first = bytes.isEmpty ? nil : bytes[0] else { return false }
        let hostEnd = first == ASCIIByte.leftBracket ? addressEnd(bytes) : nameEnd(bytes)
        guard let hostEnd else { return false }
        return hostEnd == bytes.count || isPort(bytes, from: hostEnd)
    }

    /// A valid authority without its empty port, because both mean the same (RFC 9110 section
    /// 4.2.3).
    static func withoutEmptyPort(_ place: Range32, in bytes: Span<UInt8>) -> Range32 {
        guard !place.isEmpty, bytes[place.end - 1] == ASCIIByte.colon else { return place }
        return Range32(Int(place.start), place.end - 1)
    }

    /// The authority without its scheme's default port.
    static func withoutPort(
        _ port: [UInt8], _ place: Range32, in bytes: Span<UInt8>
    ) -> Range32 {
        let place = withoutEmptyPort(place, in: bytes)
        guard place.count > port.count else { return place }
        for index in port.indices where bytes[place.end - port.count + index] != port[index] {
            return place
        }
        return Range32(Int(place.start), place.end - port.count)
    }

    /// The offset behind the registered name or IPv4 address; nil if there is none.
    private static func nameEnd(_ bytes: Span<UInt8>) -> Int? {
        var index = 0
        while index < bytes.count, bytes[index] != ASCIIByte.colon {
            guard ByteSet.registeredName.contains(bytes[index]) else { return nil }
            index += 1
        }
        return index > 0 ? index : nil
    }

    private static func isPort(_ bytes: Span<UInt8>, from colon: Int) -> Bool {
        let digitCount = bytes.count - colon - 1
        guard bytes[colon] == ASCIIByte.colon, digitCount <= 5 else { return false }
        var port = 0
        for index in colon + 1..<bytes.count {
            let digit = bytes[index] &- ASCIIByte.zero
            guard digit < 10 else { return false }
            port = port * 10 + Int(digit)
        }
        return port <= 65_535
    }

    /// The offset behind the closing bracket; nil unless an IPv6 address stands between the
    /// brackets.
    private static func addressEnd(_ bytes: Span<UInt8>) -> Int? {
        var groupCount = 0
        var hasGap = false
        var index = 1
        if index + 1 < bytes.count, bytes[index] == ASCIIByte.colon {
            guard bytes[index + 1] == ASCIIByte.colon else { return nil }
            hasGap = true
            index += 2
        }
        while index < bytes.count, bytes[index] != ASCIIByte.rightBracket {
            let start = index
            while index < bytes.count, Hex.value(bytes[index]) != nil { index += 1 }
            if index < bytes.count, bytes[index] == ASCIIByte.period {
                guard let end = dottedEnd(bytes, from: start) else { return nil }
                index = end
                groupCount += 2
                break
            }
            guard index > start, index - start <= 4 else { return nil }
            groupCount += 1
            guard index < bytes.count else { return nil }
            guard bytes[index] == ASCIIByte.colon else { break }
            index += 1
            guard index < bytes.count, bytes[index] != ASCIIByte.rightBracket else { return nil }
            if bytes[index] == ASCIIByte.colon {
                guard !hasGap else { return nil }
                hasGap = true
                index += 1
            }
        }
        guard index < bytes.count, bytes[index] == ASCIIByte.rightBracket else { return nil }
        return (hasGap ? groupCount <= 7 : groupCount == 8) ? index + 1 : nil
    }

    /// The offset behind four decimal numbers of at most 255 with periods between them; nil if
    /// there are none.
    private static func dottedEnd(_ bytes: Span<UInt8>, from start: Int) -> Int? {
        var index = start
        for part in 0..<4 {
            if part > 0 {
                guard index < bytes.count, bytes[index] == ASCIIByte.period else { return nil }
                index += 1
            }
            let first = index
            var number = 0
            while index < bytes.count, index - first < 3, bytes[index] &- ASCIIByte.zero < 10 {
                number = number * 10 + Int(bytes[index] &- ASCIIByte.zero)
                index += 1
            }
            guard index > first, number <= 255 else { return nil }
        }
        return index
    }
}
