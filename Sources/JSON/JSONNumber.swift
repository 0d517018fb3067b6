/// A JSON number (RFC 8259 section 6) by its exact decimal value, so that `1024`, `1024.0` and
/// `1.024e3` are equal, and no rounding makes a number smaller than a bound.
public struct JSONNumber: Hashable, Sendable {
    /// The longest text of a number, in bytes.
    public static let byteCountMax = 32
    private static let exponentMax = 1_000_000

    private let isNegative: Bool
    /// The values of the digits, without zeros before and after them; none for zero.
    private let digits: [UInt8]
    /// The position of the decimal point: the value is 0.`digits` times 10 to this power.
    private let exponent: Int

    /// Nil if the text is not a JSON number, is longer than ``byteCountMax``, or has an exponent
    /// beyond a million.
    public init?(_ text: Span<UInt8>) {
        guard text.count <= Self.byteCountMax, let first = text.indices.first,
            var scan = JSONNumberScan(first: text[first])
        else { return nil }
        var digits: [UInt8] = []
        var exponent = 0
        var written = 0
        var isWrittenNegative = false
        for index in text.indices {
            let byte = text[index]
            guard index == 0 || scan.take(byte) else { return nil }
            switch scan {
            case .zero, .digits:
                digits.append(byte - 0x30)
                exponent += 1
            case .fraction: digits.append(byte - 0x30)
            case .exponentSign: isWrittenNegative = byte == UInt8(ascii: "-")
            case .exponentDigits:
                written = written * 10 + Int(byte - 0x30)
                guard written <= Self.exponentMax else { return nil }
            case .minus, .point, .exponent: break
            }
        }
        guard scan.isWhole else { return nil }
        exponent += isWrittenNegative ? -written : written
        let zeroCount = digits.prefix { $0 == 0 }.count
        digits.removeFirst(zeroCount)
        while digits.last == 0 { digits.removeLast() }
        self.digits = digits
        self.exponent = digits.isEmpty ? 0 : exponent - zeroCount
        isNegative = !digits.isEmpty && text[first] == UInt8(ascii: "-")
    }

    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        self.init(bytes.span)
    }

    /// The value as an integer; nil if it is negative, has a fraction or is out of range.
    public var unsignedInteger: UInt64? {
        // 20 digits are the most that 64 bits hold.
        guard !isNegative, digits.count <= exponent, exponent <= 20 else {
            return digits.isEmpty ? 0 : nil
        }
        var value: UInt64 = 0
        for position in 0..<exponent {
            let digit = position < digits.count ? UInt64(digits[position]) : 0
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            let (sum, carries) = product.addingReportingOverflow(digit)
            guard !overflows, !carries else { return nil }
            value = sum
        }
        return value
    }
}

extension JSONNumber: Comparable {
    public static func < (left: JSONNumber, right: JSONNumber) -> Bool {
        guard left.isNegative == right.isNegative else { return left.isNegative }
        return left.isNegative ? right.isCloserToZero(than: left) : left.isCloserToZero(than: right)
    }

    private func isCloserToZero(than other: JSONNumber) -> Bool {
        if digits.isEmpty || other.digits.isEmpty { return !other.digits.isEmpty }
        if exponent != other.exponent { return exponent < other.exponent }
        return digits.lexicographicallyPrecedes(other.digits)
    }
}
