import JSON

extension FuzzTarget {
    /// A body in the `body` shape, or one that rules apply to. However it is cut the same is found;
    /// and it is the same that the parser of whole texts finds, which takes nothing that the
    /// scanner does not.
    static let jsonMembers = FuzzTarget("json-members", byteCountMax: 1024) { bytes in
        let whole = found(in: bytes, cutAt: [bytes.count])
        for cut in Cuts.all(of: bytes) {
            try FuzzFinding.requireEqual(
                found(in: bytes, cutAt: cut), whole, "cut at \(cut) other members are found")
        }
        switch parsed(bytes) {
        case .success(let members):
            let found = whole?.members.map(Kind.init) ?? []
            try FuzzFinding.require(
                found.count == members.count
                    && zip(found, members).allSatisfy { $0.agrees(with: $1) },
                "the parser finds others\n  \(found)\n  \(members)")
        // The parser reads everything, and refuses what it cannot tell apart or hold.
        case .failure(.duplicateMember), .failure(.numberOutOfRange): break
        case .failure(let error):
            try FuzzFinding.require(whole == nil, "the parser refuses it: \(error)")
        }
        // Among the spellings of a name there may be one more, and nothing else.
        let strict = found(in: bytes, cutAt: [bytes.count], isSpellingStrict: true)
        try FuzzFinding.requireEqual(strict == nil, whole == nil, "spelling makes it another text")
        for (plain, member) in zip(whole?.members ?? [], strict?.members ?? []) {
            try FuzzFinding.require(
                member == plain || member == .repeated, "spelling changes a value")
        }
    }

    /// A value as far as the parser and the scanner must agree about it.
    private enum Kind: Equatable {
        case absent, other, repeated
        case string([UInt8])
        case integer(UInt64)
        /// A number below zero, or with a fraction.
        case number
        /// A number that the parser rounded.
        case rounded

        init(_ member: JSONMember) {
            self =
                switch member {
                case .absent: .absent
                case .string(let text): .string(text)
                case .number(let number): number.unsignedInteger.map { .integer($0) } ?? .number
                case .other: .other
                case .repeated: .repeated
                }
        }

        func agrees(with parsed: Kind) -> Bool {
            guard parsed == .rounded else { return self == parsed }
            switch self {
            // The scanner holds no number with a long text or a large exponent.
            case .integer, .number, .other: return true
            case .absent, .repeated, .string, .rounded: return false
            }
        }
    }

    private static func parsed(_ bytes: [UInt8]) -> Result<[Kind], JSONError> {
        do throws(JSONError) {
            let value = try JSONValue.parse(bytes.span, byteCountMax: bytes.count)
            guard case .object = value else { return .failure(.notAnObject) }
            return .success(paths.map { kind(at: $0, in: value) })
        } catch {
            return .failure(error)
        }
    }

    private static func kind(at path: [String], in value: JSONValue) -> Kind {
        var value = value
        for token in path {
            let next: JSONValue?
            switch value {
            // Bytes are compared, because Swift takes two spellings of an accent for equal.
            case .object(let members):
                next = members.first { Array($0.key.utf8) == Array(token.utf8) }?.value
            case .array(let elements):
                next = Int(token).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            default: next = nil
            }
            guard let next else { return .absent }
            value = next
        }
        switch value {
        case .string(let text): return .string(Array(text.utf8.prefix(stringByteCountMax + 1)))
        case .integer(let number): return UInt64(exactly: number).map { .integer($0) } ?? .number
        case .number: return .rounded
        default: return .other
        }
    }

    private static let paths = [["challenge"], ["a"], ["\u{E9}"], ["a", "b"], ["a", "1"]]
    private static let stringByteCountMax = 24

    private static func found(
        in bytes: [UInt8], cutAt ends: [Int], isSpellingStrict: Bool = false
    ) -> JSONFindings? {
        let pointers = paths.compactMap { path in JSONPointer(path.map { "/\($0)" }.joined()) }
        var search = JSONScanner.Search(
            pointers: pointers, stringByteCountMax: stringByteCountMax, candidateCountMax: 2
        ) { $0.count > 2 }
        search.isSpellingStrict = isSpellingStrict
        var scanner = JSONScanner(search)
        for piece in Cuts.pieces(endingAt: ends) { scanner.feed(bytes.span.extracting(piece)) }
        return try? scanner.finish()
    }
}
