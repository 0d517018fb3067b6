import Bytes
public import HTTP

/// The spellings of a path that an upstream takes for the same one: `paths` of an upstream.
///
/// Each set of such spellings has a representative, on which routes are matched in place of the
/// normal form. The upstream gets the spelling that the client sent.
public struct PathEquivalence: Hashable, Sendable {
    /// Different normal forms are different paths.
    public static let exact = PathEquivalence()

    /// `/API/x` is `/api/x`.
    public var ignoresCase = false
    /// `/x.json`, `/x.`, `/x;v=1` and `/x%20` are `/x`. In segments before the last, all but what
    /// follows a period is ignored as well.
    public var ignoresSuffixes = false
    /// `/%2578` is `/x`.
    public var decodesTwice = false

    public init() {}

    /// The position in a fixed order of equivalences.
    var rank: Int {
        (ignoresCase ? 1 : 0) + (ignoresSuffixes ? 2 : 0) + (decodesTwice ? 4 : 0)
    }

    /// The representative of `path`, which is in normal form.
    ///
    /// - Parameter keepsEnding: true to keep what follows a period in the last segment.
    /// - Throws: the fault for which a path that is decoded a second time, or stripped of its
    ///   suffixes, would be refused in that form. No spelling can be allowed there.
    public func representative(
        of path: [UInt8], keepsEnding: Bool = false
    ) throws(HTTPFault) -> [UInt8] {
        guard self != .exact else { return path }
        var path = decodesTwice ? try Self.decodedAgain(path) : path
        if ignoresSuffixes { path = try Self.withoutSuffixes(path, keepsEnding: keepsEnding) }
        return ignoresCase ? Self.folded(path) : path
    }

    /// Returns the pattern that representatives are compared with.
    func read(_ pattern: PathPattern) -> PathPattern {
        func read(_ text: String, _ keepsEnding: Bool) -> String {
            let path = try? representative(of: Array(text.utf8), keepsEnding: keepsEnding)
            return path.map { String(decoding: $0, as: UTF8.self) } ?? text
        }
        return switch pattern {
        case .exact(let text): .exact(read(text, false))
        case .prefix(let text): .prefix(read(text, true))
        }
    }

    // MARK: decoding

    /// The path as a server reads it that decodes twice.
    private static func decodedAgain(_ path: [UInt8]) throws(HTTPFault) -> [UInt8] {
        var inner: [UInt8] = []
        var index = 0
        var isChanged = false
        while index < path.count {
            inner.append(path[index])
            // `%25` stands for the `%` of an encoding that the first decoding has uncovered.
            if path[index] == 0x25, isPercent(path, index), isHex(path, index + 3),
                isHex(path, index + 4)
            {
                isChanged = true
                index += 2
            }
            index += 1
        }
        guard isChanged else { return path }
        var normal: [UInt8] = []
        switch TargetPath.normalize(inner.span, allowing: [], into: &normal) {
        case .asReceived: return inner
        case .normalized(_, let spellings):
            guard spellings.isEmpty else { throw .pathParameters }
            return normal
        case .refused(let fault): throw fault
        }
    }

    private static func isPercent(_ path: [UInt8], _ index: Int) -> Bool {
        index + 2 < path.count && path[index + 1] == 0x32 && path[index + 2] == 0x35
    }

    private static func isHex(_ path: [UInt8], _ index: Int) -> Bool {
        index < path.count && Hex.value(path[index]) != nil
    }

    // MARK: suffixes

    private static func withoutSuffixes(
        _ path: [UInt8], keepsEnding: Bool
    ) throws(HTTPFault) -> [UInt8] {
        var segments = path.split(separator: 0x2F, omittingEmptySubsequences: false)
        let last = segments.lastIndex { !$0.isEmpty }
        for (index, segment) in segments.enumerated() where segment.first != UInt8(ascii: ";") {
            let cutsEnding = index == last && !keepsEnding
            segments[index] = withoutSuffix(segment, cutsEnding: cutsEnding)
            // Only periods and spaces: `..%20` is `..` for a server that strips the space.
            guard segment.isEmpty || !segments[index].isEmpty else { throw .dotSegment }
        }
        return Array(segments.joined(separator: [UInt8(ascii: "/")]))
    }

    private static func withoutSuffix(
        _ segment: ArraySlice<UInt8>, cutsEnding: Bool
    ) -> ArraySlice<UInt8> {
        var rest = segment.prefix { $0 != UInt8(ascii: ";") }
        // A segment that begins with a period has no other part.
        if cutsEnding, let period = rest.dropFirst().firstIndex(of: UInt8(ascii: ".")) {
            rest = rest[..<period]
        }
        while true {
            let tail = rest.suffix(3)
            if rest.last == UInt8(ascii: ".") {
                rest.removeLast()
            } else if blankByteCount(tail.span, at: 0) > 0 {
                rest.removeLast(3)
            } else {
                return rest
            }
        }
    }

    /// The length of the encoding of a space or a control character at `index`; 0 for another byte.
    static func blankByteCount(_ path: Span<UInt8>, at index: Int) -> Int {
        guard index + 2 < path.count, path[index] == 0x25, let high = Hex.value(path[index + 1]),
            let low = Hex.value(path[index + 2])
        else { return 0 }
        let byte = high << 4 | low
        return byte <= 0x20 || byte == 0x7F ? 3 : 0
    }

    // MARK: case

    /// The path with ASCII letters in lower case, and other letters as servers fold them that know
    /// more.
    private static func folded(_ path: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(path.count)
        var index = 0
        while index < path.count {
            let letters = encodedBytes(path, from: index)
            if letters.isEmpty {
                output.append(ASCII.lowercased(path[index]))
                index += 1
                continue
            }
            index += letters.count * 3
            guard let text = String(validating: letters, as: UTF8.self) else {
                output += letters
                continue
            }
            // Up and down, because U+212A is a `k` for some servers and U+017F an `s`. As bytes,
            // because a path in normal form cannot hold them.
            output += text.uppercased().lowercased().utf8
        }
        return output
    }

    /// The bytes above ASCII whose encodings follow one another from `start` on.
    private static func encodedBytes(_ path: [UInt8], from start: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var index = start
        while index + 2 < path.count, path[index] == 0x25, let high = Hex.value(path[index + 1]),
            let low = Hex.value(path[index + 2]), high >= 8
        {
            bytes.append(high << 4 | low)
            index += 3
        }
        return bytes
    }
}
