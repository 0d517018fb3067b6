public import Bytes

/// One command and its arguments, built in place: `clear()` keeps the storage for the next.
///
/// It is kept as RESP sends it, an array of bulk strings. hiredis formats the length of each
/// argument with `sprintf`, which took a sixth of all instructions outside of the signature that
/// a verified request cost.
public struct RedisCommand: Sendable {
    /// Each argument behind its length.
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
        begin(argument.utf8.count)
        bytes.append(contentsOf: argument.utf8)
        endLine()
    }

    public mutating func append(_ argument: [UInt8]) { append(argument[...]) }

    public mutating func append(_ argument: ArraySlice<UInt8>) {
        begin(argument.count)
        bytes.append(contentsOf: argument)
        endLine()
    }

    /// Appends one argument made of several parts.
    public mutating func append(_ first: [UInt8], _ second: [UInt8], _ third: [UInt8] = []) {
        begin(first.count + second.count + third.count)
        bytes.append(contentsOf: first)
        bytes.append(contentsOf: second)
        bytes.append(contentsOf: third)
        endLine()
    }

    /// Appends `number` in decimal digits.
    public mutating func append(_ number: Int) {
        let sign = number < 0 ? 1 : 0
        begin(sign + Self.digitCount(number.magnitude))
        if sign == 1 { bytes.append(UInt8(ascii: "-")) }
        appendDigits(number.magnitude)
        endLine()
    }

    /// Writes the command as RESP sends it.
    public func write(to output: inout ByteBuffer) {
        precondition(argumentCount > 0, "a command without a name")
        output.append(UInt8(ascii: "*"))
        output.append(decimal: UInt64(argumentCount))
        output.append("\r\n")
        output.append(bytes)
    }

    private mutating func begin(_ byteCount: Int) {
        bytes.append(UInt8(ascii: "$"))
        appendDigits(UInt(byteCount))
        endLine()
        argumentCount += 1
    }

    private mutating func endLine() {
        bytes.append(0x0D)
        bytes.append(0x0A)
    }

    private static func digitCount(_ number: UInt) -> Int {
        var count = 1
        var rest = number
        while rest >= 10 {
            count += 1
            rest /= 10
        }
        return count
    }

    private mutating func appendDigits(_ number: UInt) {
        // Most lengths, and many numbers.
        if number < 10 { return bytes.append(UInt8(number) | 0x30) }
        if number < 100 {
            bytes.append(UInt8(number / 10) | 0x30)
            return bytes.append(UInt8(number % 10) | 0x30)
        }
        appendDigits(number / 100)
        bytes.append(UInt8(number / 10 % 10) | 0x30)
        bytes.append(UInt8(number % 10) | 0x30)
    }
}
