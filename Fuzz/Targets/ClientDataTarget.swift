import AppAttest
import Bytes
import JSON

extension FuzzTarget {
    /// JSON that strangers send: as client data, and as what an endpoint reads. A value is written
    /// as JSON that reads the same.
    static let clientData = FuzzTarget("client-data", byteCountMax: 2048) { bytes in
        _ = try? RequestClientData(parsing: bytes.span, byteCountMax: 2048)
        _ = RFC3339.parse(bytes.span)
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
}
