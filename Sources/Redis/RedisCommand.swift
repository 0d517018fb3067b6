public import Bytes

/// One command and its arguments, built in place: `clear()` keeps the storage for the next command.
///
/// It is kept in the form that RESP sends, an array of bulk strings. hiredis formats the length of
/// each argument with `sprintf`, which took a sixth of all instructions of a verified request
/// outside of its signature.
public struct RedisCommand: Sendable {
    /// The arguments, each behind its length.
    private var bytes: [UInt8] = []
    public private(set) var argumentCount = 0

    public init() {}

    public init(_ words: String...) {
        for word in words { append(word) }
    }

    public mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        argumentCount = 0
    }

    public mutating func append(_ argument: String) {
        var argument = argument
        argument.withUTF8 { text in
            let text = unsafe Span(_unsafeElements: text)
            append(byteCount: text.count) { $0.append(contentsOf: text) }
        }
    }

    public mutating func append(_ argument: [UInt8]) { append(argument.span) }

    private mutating func append(_ argument: Span<UInt8>) {
        append(byteCount: argument.count) { $0.append(contentsOf: argument) }
    }

    /// Appends all arguments of `other`, which is faster than to append each of them.
    public mutating func append(argumentsOf other: RedisCommand) {
        bytes.append(addingCapacity: other.bytes.count) {
            $0.append(contentsOf: other.bytes.span)
        }
        argumentCount += other.argumentCount
    }

    /// Appends `number` in decimal digits.
    public mutating func append(_ number: Int) {
        let magnitude = UInt64(number.magnitude)
        let digitCount = magnitude.decimalDigitCount
        append(byteCount: (number < 0 ? 1 : 0) + digitCount) { output in
            if number < 0 { output.append(UInt8(ascii: "-")) }
            output.append(decimal: magnitude, digitCount: digitCount)
        }
    }

    /// Appends `number` as sixteen lower-case hexadecimal digits.
    public mutating func append(paddedHexadecimal number: UInt64) {
        append(byteCount: 16) { $0.append(paddedHexadecimal: number) }
    }

    /// Writes the command in the form that RESP sends.
    public func write(to output: inout ByteBuffer) {
        precondition(argumentCount > 0, "a command without a name")
        output.append(UInt8(ascii: "*"))
        output.append(decimal: UInt64(argumentCount))
        output.append("\r\n")
        output.append(bytes)
    }

    /// The most bytes around an argument: a sign, its length in 20 digits at most, two ends of
    /// lines.
    private static let frameByteCountMax = 25

    /// Appends one argument of `byteCount` bytes, all of which `write` writes.
    @inline(__always)
    public mutating func append(
        byteCount: Int, _ write: (inout OutputSpan<UInt8>) -> Void
    ) {
        bytes.append(addingCapacity: byteCount + Self.frameByteCountMax) { output in
            if byteCount < 10 {
                output.append(bigEndian: 0x2430_0D0A | UInt64(byteCount) &<< 16, byteCount: 4)
            } else {
                Self.appendLength(byteCount, to: &output)
            }
            let start = output.count
            write(&output)
            precondition(output.count - start == byteCount)
            output.append(bigEndian: 0x0D0A, byteCount: 2)
        }
        argumentCount += 1
    }

    private static func appendLength(_ length: Int, to output: inout OutputSpan<UInt8>) {
        let length = UInt64(length)
        output.append(UInt8(ascii: "$"))
        output.append(decimal: length, digitCount: length.decimalDigitCount)
        output.append(bigEndian: 0x0D0A, byteCount: 2)
    }
}
