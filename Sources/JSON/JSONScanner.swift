/// Finds members of a JSON object (RFC 8259) in bytes that come piece by piece, without building a
/// tree: it holds only the values asked for, however long the text is.
///
/// As strict as ``JSONDocument``: one value, UTF-8, no NUL characters, nothing after the value, no
/// deeper than allowed. But the sizes of numbers are not checked, and of members that come twice
/// only those that are searched for, or that lead there, are reported, as
/// ``JSONMember/repeated``, because the others are not read here.
public struct JSONScanner {
    /// The values to look for.
    public struct Search {
        public var pointers: [JSONPointer]
        /// The most bytes of a string. A longer one is cut after one more byte, so that its length
        /// shows.
        public var stringByteCountMax: Int
        /// True if a member counts as ``JSONMember/repeated`` when its name differs from the
        /// pointer's only in case, `_` or `-`, because some parsers take it for the same member.
        public var isSpellingStrict = false
        /// Selects strings to be kept, whatever member of the outermost object they are in; nil for
        /// none. A string longer than `stringByteCountMax` is never selected.
        public var isCandidate: ((Span<UInt8>) -> Bool)?
        /// The most candidates that are kept. Beyond it only ``JSONFindings/hasMoreCandidates`` is
        /// set.
        public var candidateCountMax: Int

        public init(
            pointers: [JSONPointer], stringByteCountMax: Int, candidateCountMax: Int = 0,
            isCandidate: ((Span<UInt8>) -> Bool)? = nil
        ) {
            self.pointers = pointers
            self.stringByteCountMax = stringByteCountMax
            self.candidateCountMax = candidateCountMax
            self.isCandidate = isCandidate
        }
    }

    enum Place {
        /// Before the object.
        case start
        case firstName
        case name
        case colon
        case value
        case firstElement
        case separator
        case inName
        case inString
        case inNumber(JSONNumberScan)
        /// Inside a literal word, with the bytes that must follow, the next one lowest.
        case inWord(UInt32)
        /// After the object.
        case end
    }

    private let search: Search
    private let depthMax: Int
    private var pointers: JSONPointerScan
    private var candidates: [[UInt8]] = []
    private var hasMoreCandidates = false
    private var failure: JSONError?
    /// The number of bytes in earlier pieces.
    private var offset = 0
    private var place = Place.start
    private var string = JSONStringScan()
    /// The text of a number that is searched for, cut after one byte more than it may have.
    private var number: [UInt8] = []
    private var depth = 0
    /// A bit for each open container, the innermost lowest: 1 for an object.
    private var containers: UInt64 = 0

    /// The deepest nesting that a scanner can allow.
    public static let depthLimit = UInt64.bitWidth

    /// `depthMax`: at most ``depthLimit``.
    public init(_ search: Search, depthMax: Int = JSONDocument.depthMaxDefault) {
        self.search = search
        self.depthMax = min(depthMax, Self.depthLimit)
        pointers = JSONPointerScan(
            search.pointers, isSpellingStrict: search.isSpellingStrict)
    }

    /// Takes the next piece of the text. A fault is reported at the end.
    public mutating func feed(_ bytes: Span<UInt8>) {
        guard failure == nil else { return }
        do throws(JSONError) { try scan(bytes) } catch { failure = error }
        offset += bytes.count
    }

    /// Ends the text.
    public func finish() throws(JSONError) -> JSONFindings {
        if let failure { throw failure }
        guard case .end = place else { throw .truncated }
        return JSONFindings(
            members: pointers.members, candidates: candidates,
            hasMoreCandidates: hasMoreCandidates)
    }

    private mutating func scan(_ input: Span<UInt8>) throws(JSONError) {
        var index = 0
        while index < input.count {
            switch place {
            case .inName:
                if try string.take(input, from: &index, offset: offset) { endName() }
            case .inString:
                if try string.take(input, from: &index, offset: offset) { endString() }
            case .inNumber(var scan):
                while index < input.count, scan.take(input[index]) {
                    if pointers.isAtTarget { keep(input[index]) }
                    index += 1
                }
                place = .inNumber(scan)
                guard index < input.count else { return }
                guard scan.isWhole else { throw .malformed(offset: offset + index) }
                endNumber()
            case .inWord(let rest):
                guard UInt32(input[index]) == rest & 0xFF else {
                    throw .malformed(offset: offset + index)
                }
                index += 1
                place = .inWord(rest >> 8)
                if rest >> 8 == 0 { endValue() }
            default:
                let byte = input[index]
                if byte != 0x20, byte != 0x0A, byte != 0x0D, byte != 0x09 {
                    try take(byte, at: offset + index)
                }
                index += 1
            }
        }
    }

    // MARK: structure

    /// Takes a byte outside of strings, numbers and words.
    private mutating func take(_ byte: UInt8, at position: Int) throws(JSONError) {
        switch place {
        case .start:
            guard byte == 0x7B else { throw .notAnObject }
            try open(isObject: true)
        case .firstName where byte == 0x7D: close()
        case .firstName, .name:
            guard byte == 0x22 else { throw .malformed(offset: position) }
            string.begin(keeping: pointers.leads(to: depth) ? pointers.nameByteCountMax : 0)
            place = .inName
        case .colon:
            guard byte == 0x3A else { throw .malformed(offset: position) }
            place = .value
        case .firstElement where byte == 0x5D: close()
        case .value, .firstElement: try takeValue(byte, at: position)
        case .separator:
            let isObject = containers & 1 == 1
            switch byte {
            case 0x2C: place = isObject ? .name : .value
            case 0x7D where isObject, 0x5D where !isObject: close()
            default: throw .malformed(offset: position)
            }
        case .end: throw .trailingBytes(offset: position)
        case .inName, .inString, .inNumber, .inWord: break
        }
    }

    /// Takes the first byte of a value.
    private mutating func takeValue(_ byte: UInt8, at position: Int) throws(JSONError) {
        if containers & 1 == 0 { pointers.enterElement(at: depth) }
        if byte == 0x22 {
            let isWanted = pointers.isAtTarget || (depth == 1 && search.isCandidate != nil)
            string.begin(keeping: isWanted ? search.stringByteCountMax + 1 : 0)
            place = .inString
            return
        }
        if let scan = JSONNumberScan(first: byte) {
            number.removeAll(keepingCapacity: true)
            if pointers.isAtTarget { keep(byte) }
            place = .inNumber(scan)
            return
        }
        if pointers.isAtTarget { pointers.note(.other, at: depth) }
        switch byte {
        case 0x7B: try open(isObject: true)
        case 0x5B: try open(isObject: false)
        // The rest of true, false and null.
        case 0x74: place = .inWord(0x65_7572)
        case 0x66: place = .inWord(0x6573_6C61)
        case 0x6E: place = .inWord(0x6C_6C75)
        default: throw .malformed(offset: position)
        }
    }

    private mutating func open(isObject: Bool) throws(JSONError) {
        guard depth < depthMax else { throw .tooDeep(depthMax: depthMax) }
        depth += 1
        containers = containers << 1 | (isObject ? 1 : 0)
        place = isObject ? .firstName : .firstElement
        if !isObject { pointers.openArray(at: depth) }
    }

    private mutating func close() {
        depth -= 1
        containers >>= 1
        endValue()
    }

    private mutating func endValue() {
        place = depth == 0 ? .end : .separator
        pointers.leaveValue(at: depth)
    }

    // MARK: members

    private mutating func endName() {
        place = .colon
        pointers.enter(memberNamed: string.bytes, at: depth)
    }

    private mutating func endString() {
        if pointers.isAtTarget { pointers.note(.string(string.bytes), at: depth) }
        endValue()
        guard depth == 1, let isCandidate = search.isCandidate,
            string.bytes.count <= search.stringByteCountMax, isCandidate(string.bytes.span)
        else { return }
        if candidates.count < search.candidateCountMax {
            candidates.append(string.bytes)
        } else {
            hasMoreCandidates = true
        }
    }

    private mutating func keep(_ byte: UInt8) {
        if number.count <= JSONNumber.byteCountMax { number.append(byte) }
    }

    private mutating func endNumber() {
        if pointers.isAtTarget {
            pointers.note(JSONNumber(number.span).map { .number($0) } ?? .other, at: depth)
        }
        endValue()
    }
}

/// The values that a ``JSONScanner`` has found.
public struct JSONFindings: Hashable, Sendable {
    /// The values, in the order of the pointers that were searched for.
    public var members: [JSONMember]
    public var candidates: [[UInt8]]
    public var hasMoreCandidates: Bool
}

/// The value that a pointer leads to.
public enum JSONMember: Hashable, Sendable {
    case absent
    /// A string, as its UTF-8 bytes.
    case string([UInt8])
    case number(JSONNumber)
    /// Another value, or a number that ``JSONNumber`` does not hold.
    case other
    /// The name of the member, or of one that it is in, comes more than once, so it is not known
    /// which one is meant; see also ``JSONScanner/Search/isSpellingStrict``.
    case repeated
}
