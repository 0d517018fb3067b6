/// The reason why a key of a document is left out.
public enum JSONWebKeyFault: Error, CaseIterable, Sendable {
    /// The key is for an algorithm that is not used or does not fit its kind, or for none of those
    /// that were agreed on.
    case algorithm
    /// The key is not for signatures, but for encryption, for example.
    case use
    /// The key is private, or a shared secret: neither has a place in a public document.
    case secret
    /// The key has an unknown kind or curve.
    case kind
    /// The key's numbers are missing, invalid, or too short or too long to be used.
    case numbers
    /// The key is no object, or its `kid` is no text.
    case form

    fileprivate var words: String {
        switch self {
        case .algorithm: "for none of the algorithms"
        case .use: "not for signatures"
        case .secret: "not public"
        case .kind: "of an unknown kind"
        case .numbers: "malformed, or too short or long"
        case .form: "no JWK"
        }
    }
}

/// The number of usable keys in a document, and the reasons why the others are not used.
public struct JSONWebKeyTally: Sendable {
    public internal(set) var usedCount = 0
    private var leftOut: [JSONWebKeyFault: Int] = [:]

    init(_ faults: [JSONWebKeyFault]) { for fault in faults { leaveOut(fault) } }

    mutating func leaveOut(_ fault: JSONWebKeyFault) { leftOut[fault, default: 0] += 1 }

    public var leftOutCount: Int { leftOut.values.reduce(0, +) }

    /// A text such as `left out: 3 (1 not for signatures, 2 of an unknown kind)`.
    public var leftOutText: String {
        let reasons = JSONWebKeyFault.allCases.compactMap { fault in
            leftOut[fault].map { "\($0) \(fault.words)" }
        }
        return "left out: \(leftOutCount) (\(reasons.joined(separator: ", ")))"
    }

    /// A text such as `2`, or `2, left out: 1 (1 not for signatures)`.
    public var text: String {
        leftOutCount == 0 ? "\(usedCount)" : "\(usedCount), \(leftOutText)"
    }
}
