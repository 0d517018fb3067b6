import Attestation
import Bytes
import JSON

extension FuzzTarget {
    /// JSON that strangers send: as client data, and as what an endpoint reads. A value is written
    /// as JSON that reads the same.
    static let clientData = FuzzTarget("client-data", byteCountMax: 2048) { bytes in
        _ = try? RequestClientData(parsing: bytes.span, byteCountMax: 2048)
        _ = RFC3339.parse(bytes.span)
        try compareReaders(bytes)
        guard let value = try? JSONValue.parse(bytes.span, byteCountMax: 2048, depthMax: 8) else {
            return
        }
        var writer = JSONWriter()
        writer.element(value)
        let buffer = writer.finish()
        let text = buffer.readable.array
        let again = try? JSONValue.parse(text.span, byteCountMax: 1 << 16, depthMax: 8)
        try FuzzFinding.requireEqual(
            again, value, "written anew: \(String(decoding: text, as: UTF8.self))")
    }

    /// What the reader without a tree takes, the one with a tree takes and reads the same.
    private static func compareReaders(_ bytes: [UInt8]) throws {
        guard let object = JSONPlainObject(bytes.span) else { return }
        guard
            let reader = try? JSONObjectReader(
                parsing: bytes.span, byteCountMax: 2048, depthMax: 1)
        else { throw FuzzFinding("taken without a tree, refused with one") }
        try FuzzFinding.requireEqual(reader.memberCount, object.count, "members")
        for index in 0..<object.count {
            let member = object[index]
            let name = String(decoding: bytes[member.name], as: UTF8.self)
            try FuzzFinding.requireEqual(
                reader.string(named: name), bytes[member.value].filter { $0 != 0x5C }, name)
        }
    }
}
