/// The outcome of normalizing a request target's path.
public enum TargetPathOutcome: Equatable, Sendable {
    /// The target's first `pathCount` bytes are the normal form; the query follows them.
    case asReceived(pathCount: Int)
    /// The normal form fills the scratch array with `pathCount` bytes. `spellings` are the disputed
    /// ones that the target uses; each but `pathParameters` was allowed.
    case normalized(pathCount: Int, spellings: TargetAllowances)
    case refused(HTTPFault)

    /// True if some segment has `;` parameters: to be refused on an attested route unless allowed.
    public var hasParameters: Bool {
        if case .normalized(_, let spellings) = self {
            spellings.contains(.pathParameters)
        } else {
            false
        }
    }
}

/// The normal form of a path, on which routes match, so that no other spelling slips past a
/// stricter route to an upstream that decodes it.
///
/// In it the query is gone (from the first `?`); percent-encodings of bytes that may stand for
/// themselves in a path (RFC 3986 `pchar`: unreserved, `!$&'()*+,=:@`) are decoded, the others have
/// upper-case digits, also if they came as they are (`[ ] ^ |`). RFC 3986 section 6.2.2.2 speaks of
/// unreserved bytes only; servers decode the rest too, so `%40` and `@` must not be two paths here.
///
/// Refused always: a byte that no path may hold, `%` without two digits, `%00`, overlong UTF-8 of
/// an ASCII byte, a dot segment that leaves the root.
/// Refused unless allowed by name, with the normal form when allowed:
/// - `dotSegments`: `.` and `..` segments, and any `%2E`: resolved as by RFC 3986 section 5.2.4.
/// - `emptySegments`: `//` counts as `/`.
/// - `encodedSlash`: `%2F` counts as `/`.
/// - `backslash`: `\` and `%5C` count as `/`.
/// - `encodedControl`: `%01` to `%1F` and `%7F` stay as they are.
/// - `pathParameters`: never refused here but reported; `;` (or `%3B`) and what follows it in a
///   segment are left out, and only then is the segment looked at (`/..;/` is a dot segment).
///
/// An upstream may read an allowed spelling in another way than this. A caller that allows one
/// matches the other readings too, by ``read(_:interpreting:into:)``.
public enum TargetPath {
    /// - Parameters:
    ///   - target: the target in origin-form.
    ///   - scratch: overwritten if the normal form differs from what was received.
    public static func normalize(
        _ target: Span<UInt8>, allowing: TargetAllowances, into scratch: inout [UInt8]
    ) -> TargetPathOutcome {
        guard !target.isEmpty, target[0] == ASCIIByte.slash else { return .refused(.pathInvalid) }
        let (pathCount, isNormal) = pathEnd(target)
        for index in pathCount..<target.count {
            guard ByteSet.target.contains(target[index]) else { return .refused(.queryInvalid) }
        }
        if isNormal { return .asReceived(pathCount: pathCount) }
        return rewrite(target.extracting(first: pathCount), allowing, &scratch)
    }

    /// Writes one reading of `path` (without query) to `scratch`: only the spellings in
    /// `interpreting` get the meaning described at ``TargetPath``; the others stay literal.
    ///
    /// - Returns: a fault that no allowance lifts.
    public static func read(
        _ path: Span<UInt8>, interpreting: TargetAllowances, into scratch: inout [UInt8]
    ) -> HTTPFault? {
        var reading = PathReading(interpreting: interpreting)
        return reading.read(path, into: &scratch)
    }

    /// The normal form of a path from the configuration. Throws the fault if it has none.
    ///
    /// Accepts no spelling that would be refused in a request, no query and no parameters.
    public static func normalize(pattern: [UInt8]) throws(HTTPFault) -> [UInt8] {
        var scratch: [UInt8] = []
        switch normalize(pattern.span, allowing: [], into: &scratch) {
        case .refused(let fault): throw fault
        case .asReceived(let pathCount):
            guard pathCount == pattern.count else { throw .pathInvalid }
            return pattern
        case .normalized(_, let spellings):
            guard spellings.isEmpty else { throw .pathParameters }
            guard !pattern.contains(ASCIIByte.question) else { throw .pathInvalid }
            return scratch
        }
    }

    /// The length of the path, and true if it is in normal form already. The length holds either
    /// way.
    private static func pathEnd(_ target: Span<UInt8>) -> (count: Int, isNormal: Bool) {
        var isNormal = true
        var segmentStart = 1
        var index = 1
        while index < target.count {
            let byte = target[index]
            if !ByteSet.pathPlain.contains(byte) {
                if byte == ASCIIByte.question { break }
                if byte == ASCIIByte.slash {
                    isNormal = isNormal && index > segmentStart
                    isNormal = isNormal && !isDots(target, segmentStart, index)
                    segmentStart = index &+ 1
                } else {
                    isNormal = false
                }
            }
            index &+= 1
        }
        return (index, isNormal && !isDots(target, segmentStart, index))
    }

    @inline(__always)
    private static func isDots(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        guard end > start, end &- start <= 2, bytes[start] == ASCIIByte.period else {
            return false
        }
        return bytes[end &- 1] == ASCIIByte.period
    }

    private static func rewrite(
        _ path: Span<UInt8>, _ allowing: TargetAllowances, _ scratch: inout [UInt8]
    ) -> TargetPathOutcome {
        // With every meaning applied, nothing stays hidden in another spelling.
        var reading = PathReading(interpreting: .all)
        let fault = reading.read(path, into: &scratch)
        if let fault = reading.refusal(allowing: allowing) ?? fault { return .refused(fault) }
        return .normalized(pathCount: scratch.count, spellings: reading.found)
    }
}

extension TargetAllowances {
    static let all: TargetAllowances = [
        .dotSegments, .emptySegments, .encodedSlash, .backslash, .pathParameters,
    ]
}
