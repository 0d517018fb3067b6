public import Bytes

/// Writes JSON texts into a buffer. It keeps nothing but the buffer and the depth.
///
/// The caller keeps the order: members only inside objects, elements only inside arrays, every
/// `begin…` ended. Strings are escaped and always come out as UTF-8, whatever bytes go in.
public struct JSONWriter: ~Copyable {
    /// The JSON text written so far.
    public private(set) var buffer: ByteBuffer
    /// Bit N is set once the container at depth N has an element, so that the next needs a comma.
    private var occupied: UInt64 = 0
    private var depth = 0

    public static let depthMax = 63

    public init() { buffer = ByteBuffer() }

    /// Gives the buffer back.
    public consuming func finish() -> ByteBuffer {
        assert(depth == 0, "an object or array was not ended")
        return buffer
    }

    /// Empties the buffer and keeps its storage, to write another text.
    public mutating func reset() {
        buffer.clear()
        occupied = 0
        depth = 0
    }

    /// Appends bytes that do not belong to a value, such as the line feed after a log line.
    public mutating func raw(_ text: StaticString) { buffer.append(text) }

    /// Appends JSON that was written before, such as the elements of an array.
    public mutating func raw(_ json: Span<UInt8>) { buffer.append(json) }

    // MARK: containers

    public mutating func beginObject() {
        separate()
        open(0x7B)
    }

    public mutating func beginObject(_ name: StaticString) {
        writeName(name)
        open(0x7B)
    }

    public mutating func endObject() { close(0x7D) }

    public mutating func beginArray() {
        separate()
        open(0x5B)
    }

    public mutating func beginArray(_ name: StaticString) {
        writeName(name)
        open(0x5B)
    }

    public mutating func endArray() { close(0x5D) }

    // MARK: members

    public mutating func member(_ name: StaticString, string: String) {
        writeName(name)
        writeString(string)
    }

    /// The bytes are taken for UTF-8; invalid ones become U+FFFD.
    public mutating func member(_ name: StaticString, bytes: Span<UInt8>) {
        writeName(name)
        JSONEscape.append(bytes, to: &buffer)
    }

    /// Writes `word` as a string of sixteen hexadecimal digits.
    public mutating func member(_ name: StaticString, digitsOf word: UInt64) {
        writeName(name)
        buffer.append(UInt8(ascii: "\""))
        buffer.append(paddedHexadecimal: word)
        buffer.append(UInt8(ascii: "\""))
    }

    /// Writes `bytes` as a string of thirty-two hexadecimal digits.
    public mutating func member(_ name: StaticString, digitsOf bytes: Bytes16) {
        writeName(name)
        buffer.append(UInt8(ascii: "\""))
        buffer.append(paddedHexadecimal: bytes.word0)
        buffer.append(paddedHexadecimal: bytes.word1)
        buffer.append(UInt8(ascii: "\""))
    }

    /// Writes `number` as a string, the form of 64-bit numbers in the JSON of Protocol Buffers.
    public mutating func member(_ name: StaticString, quoted number: UInt64) {
        writeName(name)
        writeQuoted(number)
    }

    public mutating func member(_ name: StaticString, constant: StaticString) {
        writeName(name)
        writeString(constant)
    }

    public mutating func member(_ name: StaticString, int: Int64) {
        writeName(name)
        writeInteger(int)
    }

    public mutating func member(_ name: StaticString, unsigned: UInt64) {
        writeName(name)
        buffer.append(decimal: unsigned)
    }

    public mutating func member(_ name: StaticString, double: Double) {
        writeName(name)
        writeDouble(double)
    }

    public mutating func member(_ name: StaticString, bool: Bool) {
        writeName(name)
        buffer.append(bool ? "true" : "false")
    }

    /// Writes `text`, which is JSON already, as it is.
    public mutating func member(_ name: StaticString, text: Span<UInt8>) {
        writeName(name)
        buffer.append(text)
    }

    public mutating func null(_ name: StaticString) {
        writeName(name)
        buffer.append("null")
    }

    /// Writes a member whose name is not known at compile time.
    public mutating func member(named name: String, value: JSONValue) {
        separate()
        writeString(name)
        buffer.append(0x3A)
        write(value)
    }

    // MARK: elements, and single values

    public mutating func element(string: String) {
        separate()
        writeString(string)
    }

    public mutating func element(int: Int64) {
        separate()
        writeInteger(int)
    }

    public mutating func element(double: Double) {
        separate()
        writeDouble(double)
    }

    /// Writes `number` as a string, the form of 64-bit numbers in the JSON of Protocol Buffers.
    public mutating func element(quoted number: UInt64) {
        separate()
        writeQuoted(number)
    }

    /// Writes a value. The members of an object are written in the order of their names.
    public mutating func element(_ value: JSONValue) {
        separate()
        write(value)
    }

    // MARK: inside

    private mutating func separate() {
        guard depth > 0 else { return }
        if occupied >> UInt64(depth) & 1 == 1 { buffer.append(0x2C) }
        occupied |= 1 << UInt64(depth)
    }

    private mutating func open(_ bracket: UInt8) {
        precondition(depth < Self.depthMax, "JSON nested too deep to write")
        depth += 1
        occupied &= ~(1 << UInt64(depth))
        buffer.append(bracket)
    }

    private mutating func close(_ bracket: UInt8) {
        precondition(depth > 0, "nothing to end")
        depth -= 1
        buffer.append(bracket)
    }

    private mutating func writeName(_ name: StaticString) {
        separate()
        writeString(name)
        buffer.append(0x3A)
    }

    private mutating func write(_ value: JSONValue) {
        switch value {
        case .object(let members):
            open(0x7B)
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                member(named: name, value: value)
            }
            close(0x7D)
        case .array(let elements):
            open(0x5B)
            for element in elements { self.element(element) }
            close(0x5D)
        case .string(let text): writeString(text)
        case .integer(let number): writeInteger(number)
        case .number(let number): writeDouble(number)
        case .bool(let flag): buffer.append(flag ? "true" : "false")
        case .null: buffer.append("null")
        }
    }

    private mutating func writeInteger(_ number: Int64) {
        if number < 0 { buffer.append(0x2D) }
        buffer.append(decimal: number.magnitude)
    }

    private mutating func writeQuoted(_ number: UInt64) {
        buffer.append(UInt8(ascii: "\""))
        buffer.append(decimal: number)
        buffer.append(UInt8(ascii: "\""))
    }

    private mutating func writeDouble(_ number: Double) {
        // JSON has no word for infinity and not-a-number.
        if number.isFinite { buffer.append(number.description) } else { buffer.append("null") }
    }

    private mutating func writeString(_ text: String) {
        var text = text
        text.withUTF8 { source in
            unsafe JSONEscape.append(Span(_unsafeElements: source), to: &buffer)
        }
    }

    private mutating func writeString(_ text: StaticString) {
        text.withUTF8Buffer { source in
            unsafe JSONEscape.append(Span(_unsafeElements: source), to: &buffer)
        }
    }
}
