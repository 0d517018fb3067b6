import Bytes

/// Just enough DER to write signatures that OpenSSL would not.
enum DER {
    static func signature(r: [UInt8], s: [UInt8]) -> [UInt8] {
        let contents = integer(r) + integer(s)
        return [0x30, UInt8(contents.count)] + contents
    }

    /// A non-negative INTEGER from big-endian bytes.
    private static func integer(_ bytes: [UInt8]) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
        return [0x02, UInt8(digits.count)] + digits
    }

    /// r and s of a valid P-256 signature, 32 bytes each.
    static func numbers(of signature: [UInt8]) -> (r: [UInt8], s: [UInt8])? {
        var reader = ByteReader(signature.span)
        guard reader.readSpan(byteCount: 2) != nil, let r = number(&reader),
            let s = number(&reader)
        else { return nil }
        return (r, s)
    }

    private static func number(_ reader: inout ByteReader) -> [UInt8]? {
        guard reader.readByte() == 0x02, let byteCount = reader.readByte(),
            let bytes = reader.readSpan(byteCount: Int(byteCount))
        else { return nil }
        let digits = Array(bytes.array.drop { $0 == 0 })
        return [UInt8](repeating: 0, count: 32 - digits.count) + digits
    }

    /// `left - right`, both big-endian and of equal count, `left` not smaller.
    static func difference(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var result = left
        var borrow = 0
        for index in left.indices.reversed() {
            let digit = Int(left[index]) - Int(right[index]) - borrow
            borrow = digit < 0 ? 1 : 0
            result[index] = UInt8(truncatingIfNeeded: digit)
        }
        return result
    }
}

extension Bytes32 {
    init?(hex: String) {
        guard let bytes = Hex.decode(hex) else { return nil }
        self.init(bytes)
    }
}
