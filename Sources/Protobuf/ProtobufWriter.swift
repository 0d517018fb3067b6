/// Writes one Protocol Buffers message. By proto3, empty and zero fields may be omitted; the caller
/// decides.
public struct ProtobufWriter {
    public private(set) var bytes: [UInt8] = []

    public init() {}

    public mutating func number(_ field: Int, _ value: UInt64) {
        varint(UInt64(field) << 3)
        varint(value)
    }

    public mutating func flag(_ field: Int, _ value: Bool) { number(field, value ? 1 : 0) }

    public mutating func bytes(_ field: Int, _ value: [UInt8]) {
        varint(UInt64(field) << 3 | 2)
        varint(UInt64(value.count))
        bytes += value
    }

    public mutating func string(_ field: Int, _ value: String) { bytes(field, Array(value.utf8)) }

    public mutating func message(_ field: Int, _ write: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        write(&inner)
        bytes(field, inner.bytes)
    }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
