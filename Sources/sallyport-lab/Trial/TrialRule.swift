/// An action that a client must take, or must not. Each rule returns the mistakes that it finds.
enum TrialRule {
    /// More attempts for one request than this, or fewer.
    case attempts(ClosedRange<Int>)
    /// The request is to be answered in the end.
    case succeeds
    /// An attempt without a proof, or with one that the gateway itself refuses.
    case proves
    /// Any other number of new keys than this.
    case newKeys(Int)
    /// An attempt less than this many milliseconds after the one before it; the last number holds
    /// for all further ones. A delay in the client only makes its pauses longer.
    case gaps(atLeast: [Int64])
    /// Leaving the challenge of the last answer unused in this attempt, from 0.
    case usesChallenge(ofAttempt: Int)
    /// A request to another target.
    case staysAtTarget
    /// Another attestation than the first.
    case sameAttestation
    /// An enrolment without the newest ticket.
    case bringsTicket

    /// The change to the app that keeps the rule.
    var advice: TrialAdvice {
        switch self {
        case .attempts:
            TrialAdvice(
                "Send again only if a refusal's action says so, as often as `retry` says.",
                "behaviour.md#refusals")
        case .succeeds:
            TrialAdvice(
                "Do what the refusal's action says before you give up.", "behaviour.md#refusals")
        case .proves:
            TrialAdvice(
                "Sign each attempt anew, with its own challenge, over the bytes that you send.",
                "behaviour.md#requests")
        case .newKeys:
            TrialAdvice(
                "Save the key, and make another only for `attest_again` or a lost key, and not "
                    + "within `new_key_after` of another.", "behaviour.md#states")
        case .gaps:
            TrialAdvice(
                "Wait for the longer of `Retry-After` and `after` x `backoff`^(n - 1) before the "
                    + "next attempt.", "behaviour.md#waits")
        case .usesChallenge:
            TrialAdvice(
                "Sign the challenge that the last answer brought; fetch one only if none did.",
                "behaviour.md#requests")
        case .staysAtTarget:
            TrialAdvice(
                "Switch redirections off: a redirection is the answer to a signed request.",
                "behaviour.md#refusals")
        case .sameAttestation:
            TrialAdvice(
                "Save the attestation before you send it, and send it again until an answer comes.",
                "behaviour.md#states")
        case .bringsTicket:
            TrialAdvice(
                "Keep `installation` of the last enrolment beyond a reinstall, and send it with "
                    + "the next one.", "platforms.md#after-a-reinstall")
        }
    }
}

/// What to change in an app, and the section of the documentation that says more.
struct TrialAdvice: Equatable {
    let change: String
    let section: String

    /// `page`: below `docs/client`, with the anchor.
    init(_ change: String, _ page: String) {
        self.change = change
        section = "docs/client/" + page
    }

    /// For an act that the client did not reach.
    static let notReached = TrialAdvice(
        "Let the client enrol and go on with new requests, whatever comes of them.",
        "testing.md#trial")
    static let onlyToEnrolment = TrialAdvice(
        "Send the ticket to `attest/verify` alone, in its body.", "platforms.md#after-a-reinstall")
    static let notAfterAnother = TrialAdvice(
        "Drop a request that failed; only the app may decide to send it again.",
        "behaviour.md#requests")
    static let enrolmentOnAndroid = TrialAdvice(
        "Attest the challenge's bytes, and send the whole chain.", "android.md#enrol")
    static let requestOnAndroid = TrialAdvice(
        "Sign the client data's bytes with a new challenge.", "android.md#sign-a-request")
}

/// A mistake in words, and its remedy.
struct TrialMistake: Equatable {
    let text: String
    let advice: TrialAdvice
}
