/// Why a key of a document is left out.
public enum JSONWebKeyFault: Error, CaseIterable, Sendable {
    /// It says that it is for an algorithm that is not used, or not for its kind; or it is for none
    /// of those that were agreed on.
    case algorithm
    /// It is for encryption, say.
    case use
    /// A private key, or one that is shared: neither has a place in a public document.
    case secret
    /// A kind or a curve that is not known.
    case kind
    /// Its numbers are missing, or no key's, or too short or long to be used.
    case numbers
    /// It is no object, or its `kid` is no text.
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

/// How many keys of a document are of use, and why the others are not.
public struct JSONWebKeyTally: Sendable {
    public internal(set) var usedCount = 0
    private var leftOut: [JSONWebKeyFault: Int] = [:]

    init(_ faults: [JSONWebKeyFault]) { for fault in faults { leaveOut(fault) } }

    mutating func leaveOut(_ fault: JSONWebKeyFault) { leftOut[fault, default: 0] += 1 }

    public var leftOutCount: Int { leftOut.values.reduce(0, +) }

    /// `left out: 3 (1 not for signatures, 2 of an unknown kind)`.
    public var leftOutText: String {
        let reasons = JSONWebKeyFault.allCases.compactMap { fault in
            leftOut[fault].map { "\($0) \(fault.words)" }
        }
        return "left out: \(leftOutCount) (\(reasons.joined(separator: ", ")))"
    }

    /// `2`, or `2, left out: 1 (1 not for signatures)`.
    public var text: String {
        leftOutCount == 0 ? "\(usedCount)" : "\(usedCount), \(leftOutText)"
    }
}
