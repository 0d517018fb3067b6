import Bytes

/// A CBOR item as a tree: for showing the content of an object, and for making objects in tests.
/// The request path reads in place with ``CBORReader`` instead.
public indirect enum CBORValue: Hashable, Sendable {
    case unsigned(UInt64)
    /// The value is `-1 - argument`.
    case negative(argument: UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    /// A map, with its entries in the order of the encoding.
    case map([Entry])
    case bool(Bool)
    case null

    public struct Entry: Hashable, Sendable {
        public var key: CBORValue
        public var value: CBORValue

        public init(_ key: CBORValue, _ value: CBORValue) {
            self.key = key
            self.value = value
        }
    }

    public static func integer(_ value: Int64) -> CBORValue {
        value >= 0 ? .unsigned(UInt64(value)) : .negative(argument: UInt64(-1 - value))
    }

    /// Parses exactly one item, with nothing after it.
    public static func parse(
        _ bytes: Span<UInt8>, limits: CBORLimits
    ) throws(CBORError) -> CBORValue {
        var reader = try CBORReader(bytes, limits: limits)
        return try read(&reader)
    }

    private static func read(_ reader: inout CBORReader) throws(CBORError) -> CBORValue {
        switch try reader.peekKind() {
        case .unsigned: return .unsigned(try reader.readUnsigned())
        case .negative: return .negative(argument: try reader.readNegativeArgument())
        case .bytes: return .bytes(try reader.readBytes().array)
        case .text: return .text(String(decoding: try reader.readText().array, as: UTF8.self))
        case .bool: return .bool(try reader.readBool())
        case .null:
            try reader.readNull()
            return .null
        case .array:
            let count = try reader.readArrayCount()
            var elements: [CBORValue] = []
            for _ in 0..<count { elements.append(try read(&reader)) }
            return .array(elements)
        case .map:
            let count = try reader.readMapCount()
            var entries: [Entry] = []
            for _ in 0..<count { entries.append(Entry(try read(&reader), try read(&reader))) }
            return .map(entries)
        }
    }

    /// The shortest definite encoding, with entries in the given order.
    public var encoded: [UInt8] {
        var encoder = CBOREncoder()
        encoder.append(self)
        return encoder.bytes
    }
}

/// The diagnostic notation (RFC 8949 section 8).
extension CBORValue: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unsigned(let value): "\(value)"
        case .negative(.max): "-18446744073709551616"
        case .negative(let argument): "-\(argument + 1)"
        case .bytes(let bytes): "h'\(Hex.encode(bytes))'"
        case .text(let text): text.debugDescription
        case .array(let elements): "[\(elements.map(\.description).joined(separator: ", "))]"
        case .map(let entries):
            "{\(entries.map { "\($0.key): \($0.value)" }.joined(separator: ", "))}"
        case .bool(let value): value ? "true" : "false"
        case .null: "null"
        }
    }
}
