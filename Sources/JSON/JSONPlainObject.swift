import Bytes

/// The members of a small JSON object (RFC 8259) whose values are all strings, found in one pass
/// and without memory of their own.
///
/// This is the form that client data has. It takes only text that ``JSONObjectReader`` takes too,
/// and finds the same in it. Text that is not of this form may still be JSON: nested values,
/// numbers, characters beyond ASCII, escapes other than `\/`, names that come twice, and anything
/// wrong are left to that reader.
public struct JSONPlainObject: Sendable {
    /// Where a member lies in the text, without its quotation marks.
    public struct Member: Sendable {
        public let name: Range<Int>
        public let value: Range<Int>
        /// The value has `\/`, which stands for `/`.
        public let hasEscapes: Bool

        fileprivate static let none = Member(name: 0..<0, value: 0..<0, hasEscapes: false)
    }

    /// Names are compared with each other, so there must not be many.
    public static let memberCountMax = 12

    private var members = InlineArray<12, Member>(repeating: .none)
    public private(set) var count = 0

    public subscript(index: Int) -> Member {
        precondition(index < count)
        return members[index]
    }

    /// Nil where `json` is not of this form.
    public init?(_ json: Span<UInt8>) {
        var cursor = Cursor()
        guard cursor.takes(0x7B, in: json) else { return nil }
        if !cursor.takes(0x7D, in: json) {
            repeat {
                guard count < Self.memberCountMax, let name = cursor.string(in: json),
                    !name.hasEscapes, cursor.takes(0x3A, in: json),
                    let value = cursor.string(in: json),
                    !isTaken(name.range, in: json)
                else { return nil }
                members[count] = Member(
                    name: name.range, value: value.range, hasEscapes: value.hasEscapes)
                count += 1
            } while cursor.takes(0x2C, in: json)
            guard cursor.takes(0x7D, in: json) else { return nil }
        }
        cursor.skipSpace(in: json)
        guard cursor.index == json.count else { return nil }
    }

    private func isTaken(_ name: Range<Int>, in json: Span<UInt8>) -> Bool {
        for index in 0..<count {
            if ASCII.equals(json.extracting(members[index].name), json.extracting(name)) {
                return true
            }
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

    /// Goes behind `byte` if that is the next one that is not white space.
    mutating func takes(_ byte: UInt8, in json: Span<UInt8>) -> Bool {
        skipSpace(in: json)
        guard index < json.count, json[index] == byte else { return false }
        index += 1
        return true
    }

    /// What is between two quotation marks: printable ASCII, and of escapes only `\/`.
    mutating func string(in json: Span<UInt8>) -> (range: Range<Int>, hasEscapes: Bool)? {
        guard takes(0x22, in: json) else { return nil }
        let start = index
        var hasEscapes = false
        while index < json.count {
            let byte = json[index]
            if byte == 0x22 {
                index += 1
                return (start..<index - 1, hasEscapes)
            }
            guard byte >= 0x20, byte < 0x80 else { return nil }
            if byte == 0x5C {
                index += 1
                guard index < json.count, json[index] == 0x2F else { return nil }
                hasEscapes = true
            }
            index += 1
        }
        return nil
    }
}
