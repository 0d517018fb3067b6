/// Finds members of a JSON object (RFC 8259) in bytes that come piece by piece, without building a
/// tree: it holds only the values asked for, however long the text is.
///
/// As strict as ``JSONDocument``: one value, UTF-8, no NUL characters, nothing after the value, no
/// deeper than allowed. But the sizes of numbers are not checked, and of members that come twice
/// only those that are searched for are reported, as ``JSONMember/repeated``, because the others
/// are not read here.
public struct JSONScanner {
    /// The names to look for, among the members of the outermost object only.
    public struct Search {
        /// The UTF-8 of the names of members.
        public var names: [[UInt8]]
        /// The most bytes of a string. A longer one is cut after one more byte, so that its length
        /// shows.
        public var stringByteCountMax: Int
        /// Selects strings to be kept, whatever member they are in; nil for none. A string longer
        /// than `stringByteCountMax` is never selected.
        public var isCandidate: ((Span<UInt8>) -> Bool)?
        /// The most candidates that are kept. Beyond it only ``JSONFindings/hasMoreCandidates`` is
        /// set.
        public var candidateCountMax: Int

        public init(
            names: [[UInt8]], stringByteCountMax: Int, candidateCountMax: Int = 0,
            isCandidate: ((Span<UInt8>) -> Bool)? = nil
        ) {
            self.names = names
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

    let search: Search
    private let depthMax: Int
    private let nameByteCountMax: Int
    private(set) var findings: JSONFindings
    private var failure: JSONError?
    /// The number of bytes in earlier pieces.
    private var offset = 0
    private var place = Place.start
    private var string = JSONStringScan()
    private var depth = 0
    /// A bit for each open container, the innermost lowest: 1 for an object.
    private var containers: UInt64 = 0
    /// The member that is being read, if it is searched for.
    private var memberIndex: Int?

    /// `depthMax`: at most 64.
    public init(_ search: Search, depthMax: Int = JSONDocument.depthMaxDefault) {
        self.search = search
        self.depthMax = min(depthMax, UInt64.bitWidth)
        nameByteCountMax = search.names.reduce(0) { max($0, $1.count) }
        findings = JSONFindings(
            members: [JSONMember](repeating: .absent, count: search.names.count))
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
        return findings
    }

    private mutating func scan(_ input: Span<UInt8>) throws(JSONError) {
        var index = 0
        while index < input.count {
            switch place {
            case .inName:
                if try string.take(input, from: &index, offset: offset) { endName() }
            case .inString:
                if try string.take(input, from: &index, offset: offset) { endString() }
            case .inNumber(var number):
                while index < input.count, number.take(input[index]) { index += 1 }
                place = .inNumber(number)
                guard index < input.count else { return }
                guard number.isWhole else { throw .malformed(offset: offset + index) }
                place = .separator
            case .inWord(let rest):
                guard UInt32(input[index]) == rest & 0xFF else {
                    throw .malformed(offset: offset + index)
                }
                index += 1
                place = rest >> 8 == 0 ? .separator : .inWord(rest >> 8)
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
            string.begin(keeping: depth == 1 ? nameByteCountMax + 1 : 0)
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
        if byte == 0x22 {
            let isWanted = depth == 1 && (memberIndex != nil || search.isCandidate != nil)
            string.begin(keeping: isWanted ? search.stringByteCountMax + 1 : 0)
            place = .inString
            return
        }
        if depth == 1 { note(.other) }
        switch byte {
        case 0x7B: try open(isObject: true)
        case 0x5B: try open(isObject: false)
        // The rest of true, false and null.
        case 0x74: place = .inWord(0x65_7572)
        case 0x66: place = .inWord(0x6573_6C61)
        case 0x6E: place = .inWord(0x6C_6C75)
        default:
            guard let number = JSONNumberScan(first: byte) else {
                throw .malformed(offset: position)
            }
            place = .inNumber(number)
        }
    }

    private mutating func open(isObject: Bool) throws(JSONError) {
        guard depth < depthMax else { throw .tooDeep(depthMax: depthMax) }
        depth += 1
        containers = containers << 1 | (isObject ? 1 : 0)
        place = isObject ? .firstName : .firstElement
    }

    private mutating func close() {
        depth -= 1
        containers >>= 1
        place = depth == 0 ? .end : .separator
    }

    // MARK: members

    private mutating func endName() {
        place = .colon
        guard depth == 1 else { return }
        memberIndex = search.names.firstIndex { $0 == string.bytes }
    }

    private mutating func endString() {
        place = .separator
        guard depth == 1 else { return }
        if memberIndex != nil { note(.string(string.bytes)) }
        guard let isCandidate = search.isCandidate,
            string.bytes.count <= search.stringByteCountMax, isCandidate(string.bytes.span)
        else { return }
        if findings.candidates.count < search.candidateCountMax {
            findings.candidates.append(string.bytes)
        } else {
            findings.hasMoreCandidates = true
        }
    }

    private mutating func note(_ member: JSONMember) {
        guard let memberIndex else { return }
        self.memberIndex = nil
        let isFirst = findings.members[memberIndex] == .absent
        findings.members[memberIndex] = isFirst ? member : .repeated
    }
}

/// The values that a ``JSONScanner`` has found.
public struct JSONFindings: Hashable, Sendable {
    /// The members, in the order of the names that were searched for.
    public var members: [JSONMember]
    public var candidates: [[UInt8]] = []
    public var hasMoreCandidates = false
}

/// The value of a member.
public enum JSONMember: Hashable, Sendable {
    case absent
    /// A string, as its UTF-8 bytes.
    case string([UInt8])
    /// Another value than a string.
    case other
    /// The name comes more than once, so it is not known which one is meant.
    case repeated
}
