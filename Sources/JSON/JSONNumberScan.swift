/// A JSON number (RFC 8259 section 6), checked byte by byte; its value is not computed.
enum JSONNumberScan {
    case minus
    case zero
    case digits
    case point
    case fraction
    case exponent
    case exponentSign
    case exponentDigits

    /// Begins a number. Nil for a byte that no number begins with.
    init?(first byte: UInt8) {
        switch byte {
        case 0x2D: self = .minus
        case 0x30: self = .zero
        case 0x31...0x39: self = .digits
        default: return nil
        }
    }

    /// True if the number may end here.
    var isWhole: Bool {
        switch self {
        case .zero, .digits, .fraction, .exponentDigits: true
        case .minus, .point, .exponent, .exponentSign: false
        }
    }

    /// Takes `byte`; false if it does not belong to the number.
    mutating func take(_ byte: UInt8) -> Bool {
        switch (self, byte) {
        case (.minus, 0x30): self = .zero
        case (.minus, 0x31...0x39), (.digits, 0x30...0x39): self = .digits
        case (.zero, 0x2E), (.digits, 0x2E): self = .point
        case (.point, 0x30...0x39), (.fraction, 0x30...0x39): self = .fraction
        case (.zero, 0x45), (.digits, 0x45), (.fraction, 0x45): self = .exponent
        case (.zero, 0x65), (.digits, 0x65), (.fraction, 0x65): self = .exponent
        case (.exponent, 0x2B), (.exponent, 0x2D): self = .exponentSign
        case (.exponent, 0x30...0x39), (.exponentSign, 0x30...0x39),
            (.exponentDigits, 0x30...0x39):
            self = .exponentDigits
        default: return false
        }
        return true
    }
}
