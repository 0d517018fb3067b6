public import Bytes

/// Puts the chunked coding on a body (RFC 9112 section 7.1). Call ``appendHead(byteCount:to:)``,
/// append the data, and call ``appendEnd(to:)`` for each chunk, then ``appendTerminator(to:)``.
public enum ChunkedEncoder {
    /// Appends the line before `byteCount` bytes of data. Appends nothing for no bytes, because
    /// that line would end the body.
    public static func appendHead(byteCount: Int, to output: inout ByteBuffer) {
        precondition(byteCount > 0)
        output.append(hexadecimal: UInt64(byteCount))
        output.append("\r\n")
    }

    /// Appends the line end after a chunk's data.
    public static func appendEnd(to output: inout ByteBuffer) { output.append("\r\n") }

    /// Appends the last chunk and an empty trailer section.
    public static func appendTerminator(to output: inout ByteBuffer) {
        output.append("0\r\n\r\n")
    }

    /// Appends the last chunk; the lines of a trailer section and an empty one must follow.
    public static func appendLastChunk(to output: inout ByteBuffer) { output.append("0\r\n") }

    /// Appends `data` as one chunk, or nothing if there is no data.
    public static func append(_ data: Span<UInt8>, to output: inout ByteBuffer) {
        guard !data.isEmpty else { return }
        appendHead(byteCount: data.count, to: &output)
        output.append(data)
        appendEnd(to: &output)
    }
}
