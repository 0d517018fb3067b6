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

    package static func integer(_ value: UInt8) -> [UInt8] {
        element(0x02, value < 0x80 ? [value] : [0, value])
    }

    /// A context-specific constructed element, with numbers above 30 in two bytes.
    package static func context(_ number: Int, _ content: [UInt8]) -> [UInt8] {
        guard number > 30 else { return element(0xA0 | UInt8(number), content) }
        let tag = [0xBF, 0x80 | UInt8(number >> 7 & 0x7F), UInt8(number & 0x7F)]
        return tag + length(content.count) + content
    }

    private static func length(_ count: Int) -> [UInt8] {
        switch count {
        case 0..<0x80: [UInt8(count)]
        case 0x80...0xFF: [0x81, UInt8(count)]
        default: [0x82, UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
        }
    }
}
