import Protobuf
import Testing

/// The encoding of Protocol Buffers as its documentation has it, with its odd cases.
@Suite("Protocol Buffers")
struct ProtobufTests {}

extension ProtobufTests {
    private func fields(_ bytes: [UInt8]) throws -> [ProtobufField] {
        var reader = ProtobufReader(byteCount: bytes.count)
        var fields: [ProtobufField] = []
        while let field = try reader.next(in: bytes.span) { fields.append(field) }
        return fields
    }

    @Test("reads each type of the wire, and skips what it does not know")
    func types() throws {
        let bytes: [UInt8] = [
            0x08, 0x96, 0x01, 0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6E, 0x67,
            0x19, 1, 2, 3, 4, 5, 6, 7, 8, 0x25, 1, 2, 3, 4, 0xF8, 0xFF, 0xFF, 0xFF, 0x0F, 0,
        ]
        let found = try fields(bytes)
        #expect(found.map(\.number) == [1, 2, 3, 4, 0x1FFF_FFFF])
        #expect(
            found.map(\.value) == [
                .varint(150), .bytes(5..<12), .fixed(13..<21), .fixed(22..<26), .varint(0),
            ])
        #expect(try fields([]).isEmpty)
    }

    @Test("reads numbers of up to 64 bits, also longer than they need be")
    func numbers() throws {
        let largest = [UInt8](repeating: 0xFF, count: 9) + [1]
        #expect(try fields([0x08] + largest).first?.integer() == .max)
        #expect(try fields([0x08, 0x80, 0x80, 0x00]).first?.integer() == 0)
        #expect(try fields([0x88, 0x80, 0x00, 0x01]).first?.flag() == true)
    }

    @Test(
        "refuses what is not of the encoding",
        arguments: [
            // Cut off.
            ([0x08], .truncated), ([0x08, 0x80], .truncated), ([0x12, 2, 0x61], .truncated),
            ([0x19, 1, 2], .truncated), ([0x25, 1], .truncated), ([0x80], .truncated),
            ([0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], .truncated),
            ([0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], .truncated),
            // Number 0, too long, types that there are not.
            ([0x00, 0], .malformed), ([0x02, 0], .malformed), ([0x0E], .malformed),
            ([0x0F], .malformed), ([0x80, 0x80, 0x80, 0x80, 0x80, 0x00], .malformed),
            ([0xF8, 0xFF, 0xFF, 0xFF, 0x1F, 0], .malformed),
            ([0x08] + [UInt8](repeating: 0xFF, count: 9) + [2], .malformed),
            ([0x08] + [UInt8](repeating: 0x80, count: 10) + [0], .malformed),
            // Groups.
            ([0x0B, 0x0C], .group), ([0x0C], .group),
        ] as [([UInt8], ProtobufError)])
    func malformed(bytes: [UInt8], error: ProtobufError) {
        #expect(throws: error) { try fields(bytes) }
    }

    @Test("finds the only field of a number, and takes none of several")
    func only() throws {
        var writer = ProtobufWriter()
        writer.string(1, "a")
        writer.message(2) { $0.string(1, "b") }
        writer.string(1, "c")
        writer.number(3, 300)
        let bytes = writer.bytes
        let whole = 0..<bytes.count
        let inner = try #require(try ProtobufReader.only(2, in: bytes.span, whole))
        let found = try #require(try ProtobufReader.only(1, in: bytes.span, inner))
        #expect(bytes[found] == [0x62])
        #expect(try ProtobufReader.only(4, in: bytes.span, whole) == nil)
        #expect(throws: ProtobufError.repeated) {
            try ProtobufReader.only(1, in: bytes.span, whole)
        }
        #expect(throws: ProtobufError.wrongType) {
            try ProtobufReader.only(3, in: bytes.span, whole)
        }
        #expect(throws: ProtobufError.wrongType) { try fields([0x0A, 0])[0].integer() }
    }

    @Test("writes what the documentation shows")
    func writing() throws {
        var writer = ProtobufWriter()
        writer.number(1, 150)
        writer.string(2, "testing")
        writer.message(3) { $0.number(1, 150) }
        writer.flag(4, true)
        #expect(
            writer.bytes == [
                0x08, 0x96, 0x01, 0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6E, 0x67, 0x1A, 0x03,
                0x08, 0x96, 0x01, 0x20, 0x01,
            ])
        var large = ProtobufWriter()
        large.number(1, .max)
        large.bytes(16, [UInt8](repeating: 0, count: 300))
        #expect(try fields(large.bytes).map(\.number) == [1, 16])
    }
}
