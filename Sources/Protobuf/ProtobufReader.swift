/// Reads the fields of one Protocol Buffers message in place, in their order.
///
/// It knows no schema. A nested message is a field of bytes, read by a reader of its range, so that
/// nesting is only as deep as the caller goes. Groups, which proto3 does not have, are refused.
public struct ProtobufReader {
    private var position: Int
    private let end: Int

    /// Makes a reader of a whole message.
    public init(byteCount: Int) { self.init(0..<byteCount) }

    /// Makes a reader of a message at a range of another.
    public init(_ range: Range<Int>) {
        position = range.lowerBound
        end = range.upperBound
    }

    /// The next field in `bytes`, or nil at the end of the message.
    public mutating func next(in bytes: Span<UInt8>) throws(ProtobufError) -> ProtobufField? {
        guard position < end else { return nil }
        let tag = try varint(in: bytes, byteCountMax: Self.tagByteCountMax)
        guard let tag = UInt32(exactly: tag), tag >> 3 > 0 else { throw .malformed }
        let value: ProtobufField.Value
        switch tag & 7 {
        case 0: value = .varint(try varint(in: bytes, byteCountMax: Self.varintByteCountMax))
        case 1: value = .fixed(try skip(8))
        case 2:
            let count = try varint(in: bytes, byteCountMax: Self.varintByteCountMax)
            guard let count = Int(exactly: count) else { throw .truncated }
            value = .bytes(try skip(count))
        case 3, 4: throw .group
        case 5: value = .fixed(try skip(4))
        default: throw .malformed
        }
        return ProtobufField(number: Int(tag >> 3), value: value)
    }

    /// The place of the only field of that number in the message at `range`, or nil if there is
    /// none. Throws if there are several: Protocol Buffers let the last of them win, or merge them,
    /// and another reader may take the first. No encoder writes several.
    public static func only(
        _ number: Int, in bytes: Span<UInt8>, _ range: Range<Int>
    ) throws(ProtobufError) -> Range<Int>? {
        var reader = ProtobufReader(range)
        var place: Range<Int>?
        while let field = try reader.next(in: bytes) {
            guard field.number == number else { continue }
            guard place == nil else { throw .repeated }
            place = try field.bytes()
        }
        return place
    }

    private mutating func skip(_ count: Int) throws(ProtobufError) -> Range<Int> {
        guard count <= end - position else { throw .truncated }
        defer { position += count }
        return position..<position + count
    }

    /// Reads a number. A longer form than necessary is no fault, because the encoding allows it.
    private mutating func varint(
        in bytes: Span<UInt8>, byteCountMax: Int
    ) throws(ProtobufError) -> UInt64 {
        var value: UInt64 = 0
        for index in 0..<byteCountMax {
            guard position < end else { throw .truncated }
            let byte = bytes[position]
            position += 1
            // The tenth byte may have only one bit.
            guard index < 9 || byte <= 1 else { throw .malformed }
            value |= UInt64(byte & 0x7F) << (7 * UInt64(index))
            if byte < 0x80 { return value }
        }
        throw .malformed
    }

    /// The longest tag, for 32 bits.
    private static let tagByteCountMax = 5
    /// The longest number, for 64 bits.
    private static let varintByteCountMax = 10
}

/// A field in its encoded form.
public struct ProtobufField: Equatable, Sendable {
    public enum Value: Equatable, Sendable {
        /// A number, an enumeration or a Boolean.
        case varint(UInt64)
        /// The place of a string, bytes or a message.
        case bytes(Range<Int>)
        /// Four or eight bytes.
        case fixed(Range<Int>)
    }

    public let number: Int
    public let value: Value

    /// The place of a string, bytes or a message.
    public func bytes() throws(ProtobufError) -> Range<Int> {
        guard case .bytes(let range) = value else { throw .wrongType }
        return range
    }

    public func integer() throws(ProtobufError) -> UInt64 {
        guard case .varint(let number) = value else { throw .wrongType }
        return number
    }

    public func flag() throws(ProtobufError) -> Bool { try integer() != 0 }
}

public enum ProtobufError: Error, Equatable, Sendable {
    /// A field reaches beyond the end of its message.
    case truncated
    /// A tag or number is not valid in the encoding.
    case malformed
    case group
    /// A known field has another type.
    case wrongType
    /// A field that should be there once is there several times.
    case repeated
}
