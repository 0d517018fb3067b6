import Bytes

/// The members of a small JSON object (RFC 8259) whose values are all strings, found in one pass
/// and without memory of their own.
///
/// This is the form of client data. Only text that ``JSONObjectReader`` accepts too is accepted,
/// with the same result. Text in another form may still be JSON: nested values, numbers, characters
/// beyond ASCII, escapes other than `\/`, duplicate names, and any fault are left to that reader.
public struct JSONPlainObject: Sendable {
    /// The range of a member in the text, without its quotation marks.
    public struct Member: Sendable {
        public let name: Range<Int>
        public let value: Range<Int>
        /// True if the value has `\/`, which stands for `/`.
        public let hasEscapes: Bool

        fileprivate static let none = Member(name: 0..<0, value: 0..<0, hasEscapes: false)
    }

    /// A member in as little memory as possible, because there are twelve of them.
    private struct Place {
        var nameStart: UInt32 = 0
        var nameEnd: UInt32 = 0
        var valueStart: UInt32 = 0
        var valueEnd: UInt32 = 0
        var hasEscapes = false
    }

    /// The most members. Their number is small because names are compared with each other.
    public static let memberCountMax = 12

    private var places = InlineArray<12, Place>(repeating: Place())
    public private(set) var count = 0

    public subscript(index: Int) -> Member {
        precondition(index < count)
        let place = places[index]
        return Member(
            name: Int(place.nameStart)..<Int(place.nameEnd),
            value: Int(place.valueStart)..<Int(place.valueEnd), hasEscapes: place.hasEscapes)
    }

    /// Nil if `json` is not of this form.
    public init?(_ json: Span<UInt8>) {
        guard json.count <= Int(UInt32.max), take(json) else { return nil }
    }

    private mutating func take(_ json: Span<UInt8>) -> Bool {
        var cursor = Cursor()
        guard cursor.takes(0x7B, in: json) else { return false }
        if !cursor.takes(0x7D, in: json) {
            repeat {
                guard count < Self.memberCountMax, let name = cursor.string(in: json),
                    !name.hasEscapes, cursor.takes(0x3A, in: json),
                    let value = cursor.string(in: json),
                    !isTaken(name.start, name.end, in: json)
                else { return false }
                places[count] = Place(
                    nameStart: name.start, nameEnd: name.end, valueStart: value.start,
                    valueEnd: value.end, hasEscapes: value.hasEscapes)
                count &+= 1
            } while cursor.takes(0x2C, in: json)
            guard cursor.takes(0x7D, in: json) else { return false }
        }
        cursor.skipSpace(in: json)
        return cursor.index == json.count
    }

    private func isTaken(_ start: UInt32, _ end: UInt32, in json: Span<UInt8>) -> Bool {
        let name = json.extracting(Int(start)..<Int(end))
        var index = 0
        while index < count {
            let other = places[index]
            let range = Int(other.nameStart)..<Int(other.nameEnd)
            if ASCII.equals(json.extracting(range), name) { return true }
            index &+= 1
        }
        return false
    }
}

/// The place up to which the text has been read.
private struct Cursor {
    var index = 0

    mutating func skipSpace(in json: Span<UInt8>) {
        while index < json.count {
            switch json[index] {
            case 0x20, 0x0A, 0x0D, 0x09: index += 1
            default: return
            }
        }
    }

    /// Moves behind `byte` if that is the next byte that is not white space.
    mutating func takes(_ byte: UInt8, in json: Span<UInt8>) -> Bool {
        skipSpace(in: json)
        guard index < json.count, json[index] == byte else { return false }
        index += 1
        return true
    }

    /// The text between two quotation marks: printable ASCII, and no escapes but `\/`.
    mutating func string(in json: Span<UInt8>) -> Text? {
        guard takes(0x22, in: json) else { return nil }
        let start = index
        var hasEscapes = false
        while true {
            skipPlain(in: json)
            guard index < json.count else { return nil }
            switch json[index] {
            case 0x22:
                index &+= 1
                return Text(
                    start: UInt32(truncatingIfNeeded: start),
                    end: UInt32(truncatingIfNeeded: index &- 1), hasEscapes: hasEscapes)
            case 0x5C:
                guard index &+ 1 < json.count, json[index &+ 1] == 0x2F else { return nil }
                hasEscapes = true
                index &+= 2
            default: return nil
            }
        }
    }

    /// Moves to the next byte that does not stand for itself, eight at a time while none is a
    /// quotation mark, a backslash, a control byte or beyond ASCII.
    private mutating func skipPlain(in json: Span<UInt8>) {
        let ones: UInt64 = 0x0101_0101_0101_0101
        while index &+ 8 <= json.count {
            let word = json.littleEndianWord(at: index)
            let quote = (word ^ ones &* 0x22) &- ones
            let backslash = (word ^ ones &* 0x5C) &- ones
            // A flag may be wrong after a right one, but never before it, and the bytes are
            // checked.
            let flags = (word | quote | backslash | word &- ones &* 0x20) & ones &* 0x80
            if flags != 0 {
                index &+= flags.trailingZeroBitCount &>> 3
                break
            }
            index &+= 8
        }
        while index < json.count {
            let byte = json[index]
            guard byte >= 0x20, byte < 0x80, byte != 0x22, byte != 0x5C else { return }
            index &+= 1
        }
    }

    struct Text {
        let start: UInt32
        let end: UInt32
        let hasEscapes: Bool
    }
}
