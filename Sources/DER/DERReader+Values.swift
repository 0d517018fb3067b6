import Bytes

/// Reads of the simple types, each in its one encoding (X.690 sections 8 and 11).
extension DERReader {
    /// The next element as an INTEGER of at most 64 bits; nil for anything else.
    public mutating func readInteger() -> Int64? {
        guard let content = read(.integer) else { return nil }
        return Self.number(content)
    }

    /// The next element as an ENUMERATED of at most 64 bits; nil for anything else.
    public mutating func readEnumerated() -> Int64? {
        guard let content = read(.enumerated) else { return nil }
        return Self.number(content)
    }

    /// True if the next element was a NULL.
    public mutating func readNull() -> Bool {
        guard let content = read(.null) else { return false }
        return content.isEmpty
    }

    /// The next element as a BOOLEAN; nil for anything else.
    ///
    /// TRUE is also read as 0x01, which DER does not allow but the makers of keystores write.
    public mutating func readBoolean() -> Bool? {
        guard let content = read(.boolean), content.count == 1 else { return nil }
        switch content[0] {
        case 0x00: return false
        case 0x01, 0xFF: return true
        default: return nil
        }
    }

    /// The number in two's complement; nil if it has a redundant byte, none or more than eight.
    private static func number(_ content: Span<UInt8>) -> Int64? {
        guard (1...8).contains(content.count) else { return nil }
        if content.count > 1 {
            let sign = content[1] & 0x80
            guard !(content[0] == 0 && sign == 0), !(content[0] == 0xFF && sign != 0) else {
                return nil
            }
        }
        var value: Int64 = content[0] & 0x80 == 0 ? 0 : -1
        for index in content.indices { value = value << 8 | Int64(content[index]) }
        return value
    }
}
