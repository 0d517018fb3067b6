import CNghttp2

/// HPACK (RFC 7541) for a test's client: writes every field out, reads whatever a server sends.
final class HeaderCompression {
    private let inflater: OpaquePointer

    init() throws {
        var made: OpaquePointer?
        guard nghttp2_hd_inflate_new(&made) == 0, let made else {
            throw RawSocketError("out of memory")
        }
        inflater = made
    }

    deinit { nghttp2_hd_inflate_del(inflater) }

    /// Literal fields that are not indexed, without Huffman's code: the bytes as they are.
    static func encode(_ fields: [(String, String)]) -> [UInt8] {
        encode(bytes: fields.map { (Array($0.0.utf8), Array($0.1.utf8)) })
    }

    static func encode(bytes fields: [([UInt8], [UInt8])]) -> [UInt8] {
        var block: [UInt8] = []
        for (name, value) in fields {
            block.append(0)
            for text in [name, value] { block += length(text.count) + text }
        }
        return block
    }

    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 127 else { return [UInt8(count)] }
        var bytes: [UInt8] = [127]
        var rest = count - 127
        while rest >= 128 {
            bytes.append(UInt8(rest % 128 + 128))
            rest /= 128
        }
        return bytes + [UInt8(rest)]
    }

    func decode(_ block: [UInt8]) throws -> [HTTPMessage.Field] {
        var fields: [HTTPMessage.Field] = []
        var offset = 0
        while true {
            var pair = nghttp2_nv()
            var flags: Int32 = 0
            let count = block.withUnsafeBufferPointer { buffer in
                nghttp2_hd_inflate_hd2(
                    inflater, &pair, &flags, buffer.baseAddress.map { $0 + offset },
                    block.count - offset, 1)
            }
            guard count >= 0 else { throw RawSocketError("not a header block: \(block)") }
            offset += count
            if UInt32(flags) & NGHTTP2_HD_INFLATE_EMIT.rawValue != 0 {
                let name = UnsafeBufferPointer(start: pair.name, count: pair.namelen)
                let value = UnsafeBufferPointer(start: pair.value, count: pair.valuelen)
                fields.append(
                    HTTPMessage.Field(
                        name: String(decoding: name, as: UTF8.self),
                        value: String(decoding: value, as: UTF8.self)))
            }
            if UInt32(flags) & NGHTTP2_HD_INFLATE_FINAL.rawValue != 0 { break }
            if count == 0, offset == block.count { break }
        }
        nghttp2_hd_inflate_end_headers(inflater)
        return fields
    }
}
