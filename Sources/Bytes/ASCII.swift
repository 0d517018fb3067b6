/// Comparisons of ASCII by the protocols' rules, byte by byte and without locale.
public enum ASCII {
    @inlinable
    public static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
    }

    /// A copy in lower case, the form in which sets compare names.
    public static func lowercased(_ bytes: Span<UInt8>) -> [UInt8] {
        [UInt8](capacity: bytes.count) { output in
            for index in bytes.indices { output.append(lowercased(bytes[index])) }
        }
    }

    /// True if `bytes` equals `text`, which is given in lower case, folding the case of `bytes`.
    @inlinable
    public static func equalsIgnoringCase(_ bytes: Span<UInt8>, lowercase text: [UInt8]) -> Bool {
        guard bytes.count == text.count else { return false }
        for index in 0..<text.count where lowercased(bytes[index]) != text[index] { return false }
        return true
    }

    /// True if both are equal, folding the case of both.
    @inlinable
    public static func equalsIgnoringCase(_ bytes: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
        guard bytes.count == other.count else { return false }
        for index in bytes.indices where lowercased(bytes[index]) != lowercased(other[index]) {
            return false
        }
        return true
    }

    @inlinable
    public static func equals(_ bytes: Span<UInt8>, _ text: [UInt8]) -> Bool {
        equals(bytes, text.span)
    }

    @inlinable
    public static func equals(_ bytes: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
        guard bytes.count == other.count else { return false }
        for index in bytes.indices where bytes[index] != other[index] { return false }
        return true
    }

    @inlinable
    public static func equals(_ bytes: Span<UInt8>, _ text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where unsafe bytes[index] != text.utf8Start[index] {
            return false
        }
        return true
    }

    /// The value of `bytes` as decimal digits; nil if they are empty, too large, or not only
    /// digits.
    public static func decimal(_ bytes: Span<UInt8>) -> UInt64? {
        guard !bytes.isEmpty else { return nil }
        var value: UInt64 = 0
        for index in bytes.indices {
            let digit = bytes[index] &- 0x30
            guard digit < 10 else { return nil }
            let (scaled, scaleOverflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, sumOverflow) = scaled.addingReportingOverflow(UInt64(digit))
            guard !scaleOverflow, !sumOverflow else { return nil }
            value = sum
        }
        return value
    }
}
