/// Builds DER elements (X.690 sections 8 and 10).
package enum DERWriter {
    package static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag] + length(content.count) + content
    }

    package static func sequence(_ elements: [[UInt8]]) -> [UInt8] {
        element(0x30, elements.flatMap { $0 })
    }

    package static func set(_ elements: [[UInt8]]) -> [UInt8] {
        element(0x31, elements.flatMap { $0 })
    }

    package static func octetString(_ content: [UInt8]) -> [UInt8] { element(0x04, content) }

    /// A BIT STRING of whole bytes.
    package static func bitString(_ content: [UInt8]) -> [UInt8] { element(0x03, [0] + content) }

    package static func boolean(_ value: Bool) -> [UInt8] { element(0x01, [value ? 0xFF : 0]) }

    package static let null: [UInt8] = [0x05, 0x00]

    /// An OBJECT IDENTIFIER by its contents.
    package static func objectIdentifier(_ content: [UInt8]) -> [UInt8] { element(0x06, content) }

    package static func utf8String(_ text: String) -> [UInt8] { element(0x0C, Array(text.utf8)) }

    package static func integer(_ value: some BinaryInteger) -> [UInt8] {
        element(0x02, number(Int64(value)))
    }

    package static func enumerated(_ value: some BinaryInteger) -> [UInt8] {
        element(0x0A, number(Int64(value)))
    }

    /// A context-specific constructed element, with numbers above 30 in two bytes.
    package static func context(_ number: Int, _ content: [UInt8]) -> [UInt8] {
        guard number > 30 else { return element(0xA0 | UInt8(number), content) }
        let tag = [0xBF, 0x80 | UInt8(number >> 7 & 0x7F), UInt8(number & 0x7F)]
        return tag + length(content.count) + content
    }

    /// The shortest two's complement.
    private static func number(_ value: Int64) -> [UInt8] {
        var bytes = (0..<8).map { UInt8(truncatingIfNeeded: value >> Int64(56 - $0 * 8)) }
        while bytes.count > 1, bytes[0] == (bytes[1] & 0x80 == 0 ? 0 : 0xFF) {
            bytes.removeFirst()
        }
        return bytes
    }

    private static func length(_ count: Int) -> [UInt8] {
        switch count {
        case 0..<0x80: [UInt8(count)]
        case 0x80...0xFF: [0x81, UInt8(count)]
        default: [0x82, UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
        }
    }
}
