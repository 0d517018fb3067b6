import Bytes
import HTTP

extension ByteBuffer {
    /// Appends a field of the message head `bytes` as one line, without the white space around its
    /// value. Nearly every line is already in that form, and is copied in one piece.
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

/// Lines of an answer's head.
extension ByteBuffer {
    mutating func append(statusLine status: UInt16) {
        append("HTTP/1.1 ")
        append(decimal: UInt64(status))
        append(UInt8(ascii: " "))
        append(StatusPhrase.text(for: status))
        append("\r\n")
    }

    mutating func append(statusLine status: UInt16, reason: Span<UInt8>) {
        append("HTTP/1.1 ")
        append(decimal: UInt64(status))
        append(UInt8(ascii: " "))
        append(reason)
        append("\r\n")
    }

    mutating func append(via version: StaticString) {
        append("Via: ")
        append(version)
        append(" ")
        append(Via.clientsName)
        append("\r\n")
    }

    mutating func append(field name: StaticString, _ value: [UInt8]) {
        append(name)
        append(": ")
        append(value)
        append("\r\n")
    }

    mutating func append(contentLength: UInt64) {
        append("Content-Length: ")
        append(decimal: contentLength)
        append("\r\n")
    }
}
