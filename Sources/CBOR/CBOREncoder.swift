/// Writes CBOR in its shortest form, with definite lengths only. The caller must keep to the
/// counts.
public struct CBOREncoder: Sendable {
    public private(set) var bytes: [UInt8] = []

    public init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    public mutating func appendBytes(_ value: [UInt8]) {
        appendHead(.bytes, UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    public mutating func appendText(_ value: String) {
        appendHead(.text, UInt64(value.utf8.count))
        bytes.append(contentsOf: value.utf8)
    }

    /// Starts an array; `count` items must follow.
    public mutating func appendArrayHead(count: Int) { appendHead(.array, UInt64(count)) }

    /// Starts a map; `count` keys, each with its value, must follow.
    public mutating func appendMapHead(count: Int) { appendHead(.map, UInt64(count)) }

    /// Appends bytes that are already CBOR, or deliberately are not.
    public mutating func appendRaw(_ encoding: [UInt8]) { bytes.append(contentsOf: encoding) }

    public mutating func append(_ value: CBORValue) {
        switch value {
        case .unsigned(let value): appendHead(.unsigned, value)
        case .negative(let argument): appendHead(.negative, argument)
        case .bytes(let value): appendBytes(value)
        case .text(let value): appendText(value)
        case .array(let elements):
            appendArrayHead(count: elements.count)
            for element in elements { append(element) }
        case .map(let entries):
            appendMapHead(count: entries.count)
            for entry in entries {
                append(entry.key)
                append(entry.value)
            }
        case .bool(let value): bytes.append(value ? 0xF5 : 0xF4)
        case .null: bytes.append(0xF6)
        }
    }

    private mutating func appendHead(_ major: CBORHead.Major, _ argument: UInt64) {
        let high = major.rawValue << 5
        switch argument {
        case 0..<24: bytes.append(high | UInt8(argument))
        case 24...0xFF: appendHead(high | 24, argument, byteCount: 1)
        case 0x100...0xFFFF: appendHead(high | 25, argument, byteCount: 2)
        case 0x1_0000...0xFFFF_FFFF: appendHead(high | 26, argument, byteCount: 4)
        default: appendHead(high | 27, argument, byteCount: 8)
        }
    }

    private mutating func appendHead(_ initial: UInt8, _ argument: UInt64, byteCount: Int) {
        bytes.append(initial)
        for index in (0..<byteCount).reversed() {
            bytes.append(UInt8(truncatingIfNeeded: argument >> UInt64(index * 8)))
        }
    }
}
