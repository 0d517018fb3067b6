/// A fault that is made on purpose, and the rules for a client's reaction.
struct TrialAct {
    /// The requests that it affects.
    enum Place {
        /// `POST /attest/verify`.
        case enrolment
        /// The next request of the app that was not sent before.
        case request
    }

    /// The answer to one attempt.
    enum Misdeed {
        case refuse(
            Int, code: String, action: String, retryAfter: Int? = nil, retry: String? = nil)
        /// The gateway gets the request; the connection ends in place of its answer.
        case lose
        /// The gateway gets the request; the connection ends in the middle of its answer's body.
        case cut
        /// A page as of a proxy in front of the gateway, with this status.
        case page(Int)
        case redirect
        /// The gateway's own answer, with a clock that is a day behind.
        case oldDate
        /// The gateway's own answer, with the advice to update.
        case advise
    }

    /// The name in the score card.
    let name: String
    /// The fault, in words.
    let story: String
    let place: Place
    /// The answers to the first attempts. All later ones reach the gateway.
    let misdeeds: [Misdeed]
    /// The rules that the client is expected to keep.
    let rules: [TrialRule]
}

/// An action that a client must not take. Each rule returns the mistakes that it finds.
enum TrialRule {
    /// More attempts for one request than this.
    case attempts(atMost: Int)
    /// The request is to be answered in the end.
    case succeeds
    /// Any other number of new keys than this.
    case newKeys(Int)
    /// An attempt less than this many milliseconds after the one before it; the last number holds
    /// for all further ones. A delay in the client only makes its pauses longer.
    case gaps(atLeast: [Int64])
    /// Leaving the challenge of the refusal unused.
    case usesChallenge
    /// Fetching a challenge although the last answer brought one.
    case fetchesNoChallenge
    /// A request to another target.
    case staysAtTarget
    /// Another attestation than the first.
    case sameAttestation
}

extension TrialAct {
    /// The acts for a client on Android, in their order. A phone makes its key for a challenge, so
    /// one that has expired ends the key.
    static let android: [TrialAct] = {
        let expired = TrialAct(
            name: "enrolment_expired", story: "the challenge of the key has expired",
            place: .enrolment,
            misdeeds: [.refuse(401, code: "challenge_expired", action: "fetch_challenge")],
            rules: [.attempts(atMost: 2), .newKeys(1)])
        let enrolments = all.prefix { $0.place == .enrolment }
        return enrolments + [expired] + all.dropFirst(enrolments.count)
    }()

    /// The acts for a client on Apple's platforms, in their order.
    static let all: [TrialAct] = [
        TrialAct(
            name: "enrolment_unavailable", story: "the gateway cannot enrol for a second",
            place: .enrolment,
            misdeeds: [
                .refuse(
                    503, code: "store_unavailable", action: "retry_later", retryAfter: 1)
            ],
            rules: [.gaps(atLeast: [1000]), .sameAttestation]),
        TrialAct(
            name: "enrolment_lost", story: "the answer to the enrolment is lost",
            place: .enrolment, misdeeds: [.lose], rules: [.sameAttestation]),
        TrialAct(
            name: "first_request", story: "nothing goes wrong", place: .request, misdeeds: [],
            rules: [.attempts(atMost: 1), .succeeds, .newKeys(0)]),
        TrialAct(
            name: "next_request", story: "the last answer brought a challenge", place: .request,
            misdeeds: [], rules: [.attempts(atMost: 1), .succeeds, .fetchesNoChallenge]),
        TrialAct(
            name: "challenge_expired", story: "401, and the challenge to sign again with",
            place: .request,
            misdeeds: [.refuse(401, code: "challenge_expired", action: "sign_again")],
            rules: [.attempts(atMost: 2), .succeeds, .usesChallenge, .newKeys(0)]),
        TrialAct(
            name: "refused_again", story: "401 each time", place: .request,
            misdeeds: Array(
                repeating: .refuse(401, code: "assertion_invalid", action: "sign_again"),
                count: 20),
            rules: [.attempts(atMost: 3), .newKeys(0)]),
        TrialAct(
            name: "answer_lost", story: "the API has it, and the answer is lost", place: .request,
            misdeeds: [.lose], rules: [.attempts(atMost: 1), .newKeys(0)]),
        TrialAct(
            name: "answer_cut", story: "the answer ends in the middle", place: .request,
            misdeeds: [.cut], rules: [.attempts(atMost: 1), .newKeys(0)]),
        TrialAct(
            name: "upstream_failed", story: "502: the API may have it", place: .request,
            misdeeds: [.refuse(502, code: "upstream_failed", action: "retry_later")],
            rules: [.attempts(atMost: 1), .newKeys(0)]),
        TrialAct(
            name: "foreign_page", story: "a page of a proxy in front", place: .request,
            misdeeds: [.page(503)], rules: [.attempts(atMost: 1), .newKeys(0)]),
        TrialAct(
            name: "rate_limited", story: "429, and a second to wait", place: .request,
            misdeeds: [.refuse(429, code: "rate_limited", action: "retry_later", retryAfter: 1)],
            rules: [.attempts(atMost: 2), .gaps(atLeast: [1000]), .newKeys(0)]),
        TrialAct(
            name: "store_unavailable", story: "503 twice, and no word for how long",
            place: .request,
            misdeeds: Array(
                repeating: .refuse(503, code: "store_unavailable", action: "retry_later"),
                count: 2),
            rules: [
                .attempts(atMost: 3), .gaps(atLeast: [200, 400]), .newKeys(0),
            ]),
        TrialAct(
            name: "retry_policy", story: "503, and the answer says: once, after two seconds",
            place: .request,
            misdeeds: Array(
                repeating: .refuse(
                    503, code: "gateway_busy", action: "retry_later",
                    retry: #"{"after":2,"backoff":2,"max":1}"#), count: 20),
            rules: [.attempts(atMost: 2), .gaps(atLeast: [2000]), .newKeys(0)]),
        TrialAct(
            name: "update_advised", story: "served, and this version ends soon", place: .request,
            misdeeds: [.advise], rules: [.attempts(atMost: 1), .newKeys(0)]),
        TrialAct(
            name: "update_demanded", story: "403: too old", place: .request,
            misdeeds: Array(
                repeating: .refuse(403, code: "app_outdated", action: "update_app"), count: 20),
            rules: [.attempts(atMost: 1), .newKeys(0)]),
        TrialAct(
            name: "refused_for_good", story: "403: nothing helps", place: .request,
            misdeeds: Array(
                repeating: .refuse(403, code: "distribution_not_allowed", action: "none"),
                count: 20),
            rules: [.attempts(atMost: 1), .newKeys(0)]),
        TrialAct(
            name: "unknown_action", story: "a refusal of a gateway to come", place: .request,
            misdeeds: Array(
                repeating: .refuse(403, code: "something_new", action: "something_new"),
                count: 20),
            rules: [.attempts(atMost: 1), .newKeys(0)]),
        TrialAct(
            name: "redirected", story: "the API points elsewhere", place: .request,
            misdeeds: [.redirect], rules: [.attempts(atMost: 1), .staysAtTarget, .newKeys(0)]),
        TrialAct(
            name: "clock_off", story: "the server's clock is a day behind", place: .request,
            misdeeds: [.oldDate], rules: [.attempts(atMost: 1), .newKeys(0)]),
        TrialAct(
            name: "key_unknown", story: "the gateway does not know the key", place: .request,
            misdeeds: [.refuse(401, code: "key_unknown", action: "attest_again")],
            rules: [.attempts(atMost: 2), .succeeds, .newKeys(1)]),
        TrialAct(
            name: "key_unknown_again", story: "nor the one that was just made", place: .request,
            misdeeds: Array(
                repeating: .refuse(401, code: "key_unknown", action: "attest_again"), count: 20),
            rules: [.attempts(atMost: 1), .newKeys(0)]),
        TrialAct(
            name: "last_request", story: "nothing goes wrong any more", place: .request,
            misdeeds: [], rules: [.succeeds, .newKeys(0)]),
    ]
}
