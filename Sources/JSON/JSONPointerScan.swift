/// The way of a scan through a text as far as its pointers go, and the values found there.
///
/// A depth is the number of open containers around a value, so that it is also the number of tokens
/// that lead to the value.
struct JSONPointerScan {
    private struct Progress {
        /// The number of leading tokens that lead to the current value.
        var matchedCount = 0
        /// The number of leading tokens that led to any value so far.
        var seenCount = 0
    }

    private let pointers: [JSONPointer]
    private let isSpellingStrict: Bool
    private let tokenCountMax: Int
    /// The most bytes of a name that are needed to compare it.
    let nameByteCountMax: Int
    /// The values found, in the order of the pointers.
    private(set) var members: [JSONMember]
    private var progress: [Progress]
    /// The index of the next element in the array at each depth, as far as pointers lead into it.
    private var elementIndices: [Int]
    /// The largest `matchedCount`.
    private var matchedCountMax = 0
    /// True while the current value is one that is searched for.
    private(set) var isAtTarget = false

    init(_ pointers: [JSONPointer], isSpellingStrict: Bool) {
        self.pointers = pointers
        self.isSpellingStrict = isSpellingStrict
        var tokenCountMax = 0
        var longest = 0
        for pointer in pointers {
            tokenCountMax = max(tokenCountMax, pointer.tokens.count)
            for token in pointer.tokens { longest = max(longest, token.name.count) }
        }
        self.tokenCountMax = tokenCountMax
        // Another spelling may have three bytes for one, and separators between them.
        nameByteCountMax = (isSpellingStrict ? 3 * longest : longest) + 1
        members = pointers.map { $0.tokens.isEmpty ? .other : .absent }
        progress = [Progress](repeating: Progress(), count: pointers.count)
        // The outermost value is an object.
        elementIndices = tokenCountMax < 2 ? [] : [Int](repeating: 0, count: tokenCountMax)
    }

    /// True if a pointer leads to values at `depth` in the innermost container.
    func leads(to depth: Int) -> Bool {
        depth <= tokenCountMax && matchedCountMax == depth - 1
    }

    /// Notes that an array begins whose elements have `depth`.
    mutating func openArray(at depth: Int) {
        if leads(to: depth) { elementIndices[depth - 1] = 0 }
    }

    /// Takes the name of the member whose value comes next.
    mutating func enter(memberNamed name: [UInt8], at depth: Int) {
        guard leads(to: depth) else { return }
        for index in pointers.indices where leads(index, to: depth) {
            let token = pointers[index].tokens[depth - 1].name
            if name == token {
                enter(index, at: depth)
            } else if isSpellingStrict, JSONSpelling.isAlike(name, token) {
                members[index] = .repeated
            }
        }
    }

    /// Counts the element that comes next.
    mutating func enterElement(at depth: Int) {
        guard leads(to: depth) else { return }
        let element = elementIndices[depth - 1]
        elementIndices[depth - 1] += 1
        for index in pointers.indices where leads(index, to: depth) {
            if pointers[index].tokens[depth - 1].index == element { enter(index, at: depth) }
        }
    }

    private func leads(_ index: Int, to depth: Int) -> Bool {
        progress[index].matchedCount == depth - 1 && pointers[index].tokens.count >= depth
    }

    private mutating func enter(_ index: Int, at depth: Int) {
        // Of two members on the way to the value, a parser may take either.
        if progress[index].seenCount >= depth { members[index] = .repeated }
        progress[index].seenCount = max(progress[index].seenCount, depth)
        progress[index].matchedCount = depth
        matchedCountMax = depth
        if pointers[index].tokens.count == depth { isAtTarget = true }
    }

    /// Takes the current value, which is at a target.
    mutating func note(_ member: JSONMember, at depth: Int) {
        isAtTarget = false
        for index in pointers.indices
        where progress[index].matchedCount == depth && pointers[index].tokens.count == depth {
            if members[index] == .absent { members[index] = member }
        }
    }

    /// Ends the current value.
    mutating func leaveValue(at depth: Int) {
        guard depth > 0, matchedCountMax >= depth else { return }
        matchedCountMax = depth - 1
        for index in progress.indices where progress[index].matchedCount >= depth {
            progress[index].matchedCount = depth - 1
        }
    }
}

/// The spellings that parsers take for one name.
///
/// Go's parser ignores case by Unicode's simple folding, and Protocol Buffers' takes
/// `max_output_tokens` for `maxOutputTokens`.
enum JSONSpelling {
    /// True if the names differ at most in ASCII's case and in `_` and `-`.
    static func isAlike(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        var (leftIndex, rightIndex) = (0, 0)
        while true {
            let byte = next(left, &leftIndex)
            guard byte == next(right, &rightIndex) else { return false }
            if byte == nil { return true }
        }
    }

    private static func next(_ name: [UInt8], _ index: inout Int) -> UInt8? {
        while index < name.count {
            let byte = name[index]
            index += 1
            switch byte {
            case 0x2D, 0x5F: continue
            case 0x41...0x5A: return byte | 0x20
            // The two letters beyond ASCII that fold to ASCII: long s, and the sign for kelvin.
            case 0xC5 where index < name.count && name[index] == 0xBF:
                index += 1
                return 0x73
            case 0xE2
            where index + 1 < name.count && name[index] == 0x84 && name[index + 1] == 0xAA:
                index += 2
                return 0x6B
            default: return byte
            }
        }
        return nil
    }
}
