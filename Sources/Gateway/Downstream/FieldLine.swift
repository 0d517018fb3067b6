import Bytes
import HTTP

extension ByteBuffer {
    /// Appends a field of the message head `bytes` as one line, without the white space around its
    /// value. Nearly every line came as it is to be sent, and is copied in one piece.
    mutating func append(line field: FieldRange, of bytes: Span<UInt8>) {
        let end = field.value.end
        let isPlain =
            Int(field.value.start) == field.name.end + 2 && !field.value.isEmpty
            && bytes[field.name.end + 1] == 0x20 && end + 1 < bytes.count && bytes[end] == 0x0D
        if isPlain {
            append(bytes.extracting(Int(field.name.start)..<end + 2))
        } else {
            append(bytes.extracting(field.name))
            append(": ")
            append(bytes.extracting(field.value))
            append("\r\n")
        }
    }
}
