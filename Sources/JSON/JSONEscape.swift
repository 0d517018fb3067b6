import Bytes

/// Writes bytes as a JSON string (RFC 8259 section 7).
enum JSONEscape {
    static func append(_ bytes: Span<UInt8>, to buffer: inout ByteBuffer) {
        buffer.append(0x22)
        var start = 0
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte >= 0x20, byte < 0x7F, byte != 0x22, byte != 0x5C {
                index += 1
                continue
            }
            let length = byte < 0x80 ? 0 : sequenceLength(bytes, at: index)
            if length > 0 {
                let code = length < 4 ? codePoint(bytes, at: index, length) : 0
                index += length
                guard isUnseen(code) else { continue }
                buffer.append(bytes.extracting(start..<index - length))
                appendEscaped(code, to: &buffer)
                start = index
                continue
            }
            buffer.append(bytes.extracting(start..<index))
            appendEscaped(byte, to: &buffer)
            index += 1
            start = index
        }
        buffer.append(bytes.extracting(start..<bytes.count))
        buffer.append(0x22)
    }

    private static func appendEscaped(_ byte: UInt8, to buffer: inout ByteBuffer) {
        switch byte {
        case 0x22: buffer.append("\\\"")
        case 0x5C: buffer.append("\\\\")
        case 0x0A: buffer.append("\\n")
        case 0x0D: buffer.append("\\r")
        case 0x09: buffer.append("\\t")
        case 0x80...: buffer.append("\u{FFFD}" as StaticString)
        default:
            buffer.append("\\u00")
            buffer.append(Hex.digit(byte >> 4))
            buffer.append(Hex.digit(byte & 0xF))
        }
    }

    private static func appendEscaped(_ code: UInt32, to buffer: inout ByteBuffer) {
        buffer.append("\\u")
        for shift: UInt32 in [12, 8, 4, 0] {
            buffer.append(Hex.digit(UInt8(truncatingIfNeeded: code >> shift & 0xF)))
        }
    }

    /// The code point of a well-formed sequence of two or three bytes.
    private static func codePoint(_ bytes: Span<UInt8>, at index: Int, _ length: Int) -> UInt32 {
        let second = UInt32(bytes[index + 1] & 0x3F)
        if length == 2 { return UInt32(bytes[index] & 0x1F) << 6 | second }
        return UInt32(bytes[index] & 0xF) << 12 | second << 6 | UInt32(bytes[index + 2] & 0x3F)
    }

    /// True if a terminal may act on the character, or show its neighbours in another order: C1
    /// controls, line separators, and direction marks. Logs hold strangers' text.
    private static func isUnseen(_ code: UInt32) -> Bool {
        switch code {
        case 0x80...0x9F, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// The length of the well-formed UTF-8 sequence (RFC 3629 section 4) at `index`, 0 for none.
    private static func sequenceLength(_ bytes: Span<UInt8>, at index: Int) -> Int {
        let lead = bytes[index]
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0...0xEF:
            length = 3
            // Excludes overlong forms here, and surrogates below.
            if lead == 0xE0 { second = 0xA0...0xBF }
            if lead == 0xED { second = 0x80...0x9F }
        case 0xF0...0xF4:
            length = 4
            if lead == 0xF0 { second = 0x90...0xBF }
            if lead == 0xF4 { second = 0x80...0x8F }
        default: return 0
        }
        guard bytes.count - index >= length, second.contains(bytes[index + 1]) else { return 0 }
        for position in index + 2..<index + length where bytes[position] & 0xC0 != 0x80 {
            return 0
        }
        return length
    }
}
