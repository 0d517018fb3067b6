/// Classes of ASCII bytes.
extension UInt8 {
    var isDigit: Bool { (0x30...0x39).contains(self) }
    var isLowercase: Bool { (0x61...0x7A).contains(self) }
    var isUppercase: Bool { (0x41...0x5A).contains(self) }
    var isLetterOrDigit: Bool { isLowercase || isUppercase || isDigit }
    /// True if it is ASCII, and neither a control character nor a space.
    var isVisible: Bool { (0x21...0x7E).contains(self) }
    var isControl: Bool { self < 0x20 || self == 0x7F }

    /// True if the byte is one of `characters`.
    func isOne(of characters: StaticString) -> Bool { "\(characters)".utf8.contains(self) }
}

extension String {
    /// True if all characters are visible ASCII.
    var isVisible: Bool { utf8.allSatisfy(\.isVisible) }
}
