import JSON

extension FuzzTarget {
    /// A body in the `body` shape. However it is cut the same is found; and it is the same that the
    /// parser of whole texts finds, which takes nothing that the scanner does not.
    static let jsonMembers = FuzzTarget("json-members", byteCountMax: 1024) { bytes in
        let whole = found(in: bytes, cutAt: [bytes.count])
        for cut in Cuts.all(of: bytes) {
            try FuzzFinding.requireEqual(
                found(in: bytes, cutAt: cut), whole, "cut at \(cut) other members are found")
        }
        switch parsed(bytes) {
        case .success(let members):
            try FuzzFinding.requireEqual(whole?.members, members, "the parser finds others")
        // The parser reads everything, and refuses what it cannot tell apart or hold.
        case .failure(.duplicateMember), .failure(.numberOutOfRange): break
        case .failure(let error):
            try FuzzFinding.require(whole == nil, "the parser refuses it: \(error)")
        }
    }

    private static func parsed(_ bytes: [UInt8]) -> Result<[JSONMember], JSONError> {
        do throws(JSONError) {
            let reader = try JSONObjectReader(parsing: bytes.span, byteCountMax: bytes.count)
            var members: [JSONMember] = []
            for name in names {
                if let text = reader.string(named: name) {
                    members.append(.string(Array(text.prefix(stringByteCountMax + 1))))
                } else {
                    members.append(reader.has(named: name) ? .other : .absent)
                }
            }
            return .success(members)
        } catch {
            return .failure(error)
        }
    }

    private static let names = ["challenge", "a", "\u{E9}"]
    private static let stringByteCountMax = 24

    private static func found(in bytes: [UInt8], cutAt ends: [Int]) -> JSONFindings? {
        var scanner = JSONScanner(
            JSONScanner.Search(
                names: names.map { Array($0.utf8) }, stringByteCountMax: stringByteCountMax,
                candidateCountMax: 2
            ) { $0.count > 2 })
        var start = 0
        for end in ends {
            scanner.feed(bytes.span.extracting(start..<end))
            start = end
        }
        return try? scanner.finish()
    }
}
