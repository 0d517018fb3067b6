public import Bytes

/// Puts the chunked coding on a body (RFC 9112 section 7.1):
/// ``appendHead(byteCount:to:)``, the data, ``appendEnd(to:)``, and so on, then
/// ``appendTerminator(to:)``.
public enum ChunkedEncoder {
    /// The line before `byteCount` bytes of data. None for no bytes: that would end the body.
    public static func appendHead(byteCount: Int, to output: inout ByteBuffer) {
        precondition(byteCount > 0)
        output.append(hexadecimal: UInt64(byteCount))
        output.append("\r\n")
    }

    /// The line end after a chunk's data.
    public static func appendEnd(to output: inout ByteBuffer) { output.append("\r\n") }

    /// The last chunk and an empty trailer section.
    public static func appendTerminator(to output: inout ByteBuffer) {
        output.append("0\r\n\r\n")
    }

    /// The last chunk; the lines of a trailer section and an empty one follow.
    public static func appendLastChunk(to output: inout ByteBuffer) { output.append("0\r\n") }

    /// Appends `data` as one chunk, or nothing if there is no data.
    public static func append(_ data: Span<UInt8>, to output: inout ByteBuffer) {
        guard !data.isEmpty else { return }
        appendHead(byteCount: data.count, to: &output)
        output.append(data)
        appendEnd(to: &output)
    }
}
