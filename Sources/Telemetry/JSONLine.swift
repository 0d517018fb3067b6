public import Bytes

/// Writes log lines, each one JSON object (RFC 8259) and a line feed, one after another into a
/// buffer that its owner flushes.
///
/// Whatever a client sent comes out as valid JSON in UTF-8: control bytes are escaped, so that no
/// value can forge a line or steer a terminal, and bytes that are no UTF-8 become U+FFFD. Nothing
/// is allocated but the buffer. Member names are the code's own and written as they are.
public struct JSONLine: ~Copyable {
    /// The lines so far; empty it by consuming what was written away.
    public var buffer: ByteBuffer
    private var isFirst = true

    public init(capacity: Int = 16 * 1024) { buffer = ByteBuffer(capacity: capacity) }

    public mutating func begin() {
        buffer.append(UInt8(0x7B))
        isFirst = true
    }

    public mutating func end() {
        buffer.append(UInt8(0x7D))
        buffer.append(UInt8(0x0A))
    }

    /// Bytes from the network, which should be UTF-8.
    public mutating func member(_ name: StaticString, _ value: Span<UInt8>) {
        beginMember(name)
        appendString(value)
    }

    public mutating func member(_ name: StaticString, _ value: String) {
        beginMember(name)
        appendString(value.utf8.span)
    }

    /// A word of the code's own that needs no escaping.
    public mutating func member(_ name: StaticString, word: StaticString) {
        beginMember(name)
        buffer.append(UInt8(0x22))
        buffer.append(word)
        buffer.append(UInt8(0x22))
    }

    public mutating func member(_ name: StaticString, _ value: UInt64) {
        beginMember(name)
        buffer.append(decimal: value)
    }

    public mutating func member(_ name: StaticString, _ value: Int) {
        beginMember(name)
        if value < 0 { buffer.append(UInt8(0x2D)) }
        buffer.append(decimal: UInt64(value.magnitude))
    }

    public mutating func member(_ name: StaticString, _ value: Bool) {
        beginMember(name)
        buffer.append(value ? trueText : falseText)
    }

    public mutating func null(_ name: StaticString) {
        beginMember(name)
        buffer.append(nullText)
    }

    /// Milliseconds with three decimals, rounded down to a microsecond: `12.345`.
    public mutating func milliseconds(_ name: StaticString, nanoseconds: UInt64) {
        beginMember(name)
        buffer.append(decimal: nanoseconds / 1_000_000)
        let micro = nanoseconds / 1000 % 1000
        buffer.append(UInt8(0x2E))
        buffer.append(UInt8(truncatingIfNeeded: micro / 100) + 0x30)
        buffer.append(UInt8(truncatingIfNeeded: micro / 10 % 10) + 0x30)
        buffer.append(UInt8(truncatingIfNeeded: micro % 10) + 0x30)
    }

    /// A string that `body` appends, which must need no escaping: a timestamp, an address.
    public mutating func member(
        _ name: StaticString, plain body: (inout ByteBuffer) -> Void
    ) {
        beginMember(name)
        buffer.append(UInt8(0x22))
        body(&buffer)
        buffer.append(UInt8(0x22))
    }

    private mutating func beginMember(_ name: StaticString) {
        if !isFirst { buffer.append(UInt8(0x2C)) }
        isFirst = false
        buffer.append(UInt8(0x22))
        buffer.append(name)
        buffer.append(UInt8(0x22))
        buffer.append(UInt8(0x3A))
    }

    /// Copies runs that need no escaping whole.
    private mutating func appendString(_ value: Span<UInt8>) {
        buffer.append(UInt8(0x22))
        var runStart = 0
        var index = 0
        while index < value.count {
            let byte = value[index]
            if byte >= 0x20, byte < 0x7F, byte != 0x22, byte != 0x5C {
                index += 1
                continue
            }
            let sequence = byte < 0x80 ? nil : UTF8Sequence(value, at: index)
            if let sequence, sequence.isValid, !sequence.isControl {
                index += sequence.byteCount
                continue
            }
            buffer.append(value.extracting(runStart..<index))
            if let sequence {
                if sequence.isValid {
                    appendEscape(value[index + 1])
                } else {
                    buffer.append(replacementText)
                }
                index += sequence.byteCount
            } else {
                appendEscape(byte)
                index += 1
            }
            runStart = index
        }
        buffer.append(value.extracting(runStart..<index))
        buffer.append(UInt8(0x22))
    }

    /// The escape of a character below U+0100.
    private mutating func appendEscape(_ byte: UInt8) {
        buffer.append(UInt8(0x5C))
        switch byte {
        case 0x22, 0x5C: buffer.append(byte)
        case 0x08: buffer.append(UInt8(0x62))
        case 0x09: buffer.append(UInt8(0x74))
        case 0x0A: buffer.append(UInt8(0x6E))
        case 0x0C: buffer.append(UInt8(0x66))
        case 0x0D: buffer.append(UInt8(0x72))
        default:
            buffer.append(unicodeEscapeStart)
            buffer.append(Hex.digit(byte >> 4))
            buffer.append(Hex.digit(byte & 0xF))
        }
    }
}

// A literal given to `append` directly would be a String.
private let trueText: StaticString = "true"
private let falseText: StaticString = "false"
private let nullText: StaticString = "null"
private let unicodeEscapeStart: StaticString = "u00"
private let replacementText: StaticString = "\u{FFFD}"
