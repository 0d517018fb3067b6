/// The stages of an exchange, in order. Each has one word, which is used here, in the file with its
/// code, in `docs/request-path.md` and in metrics.
public enum Phase: UInt8, CaseIterable, Sendable {
    case readHead
    case matchRoute
    case decidePolicy
    case digestBody
    case answerLocally
    case verifyAssertion
    case advanceCounter
    case takeQuota
    case rewriteHeaders
    case leaseUpstream
    case relayResponse
    case recordAccess

    /// The word for the stage in metrics.
    var name: String {
        switch self {
        case .readHead: "read_head"
        case .matchRoute: "match_route"
        case .decidePolicy: "decide_policy"
        case .digestBody: "digest_body"
        case .answerLocally: "answer_locally"
        case .verifyAssertion: "verify_assertion"
        case .advanceCounter: "advance_counter"
        case .takeQuota: "take_quota"
        case .rewriteHeaders: "rewrite_headers"
        case .leaseUpstream: "lease_upstream"
        case .relayResponse: "relay_response"
        case .recordAccess: "record_access"
        }
    }

    /// The stage after this one. The last stage is its own successor.
    func next(of kind: ExchangeKind) -> Phase {
        switch (self, kind) {
        case (.digestBody, .route): .verifyAssertion
        case (.answerLocally, _): .recordAccess
        default: Phase(rawValue: rawValue + 1) ?? self
        }
    }
}
