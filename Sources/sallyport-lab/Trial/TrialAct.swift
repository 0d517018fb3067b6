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
        /// The gateway's own answer, with `X-Trial` for the program that runs the client.
        case ask(String)
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

extension TrialAct {
    /// More attempts than any client makes.
    private static let attemptCountMax = 20

    private static func enrolment(
        _ name: String, _ story: String, _ misdeed: Misdeed, newKeys: Int, rules: [TrialRule]
    ) -> TrialAct {
        TrialAct(
            name: name, story: story, place: .enrolment, misdeeds: [misdeed],
            rules: rules + [.newKeys(newKeys), .proves])
    }

    private static func request(
        _ name: String, _ story: String, _ misdeeds: Misdeed..., attempts: ClosedRange<Int> = 1...1,
        newKeys: Int = 0, rules: [TrialRule] = []
    ) -> TrialAct {
        TrialAct(
            name: name, story: story, place: .request, misdeeds: misdeeds,
            rules: [.attempts(attempts)] + rules + [.newKeys(newKeys), .proves])
    }

    private static func refused(
        _ name: String, _ story: String, _ refusal: Misdeed, attempts: ClosedRange<Int> = 1...1,
        rules: [TrialRule] = []
    ) -> TrialAct {
        TrialAct(
            name: name, story: story, place: .request,
            misdeeds: Array(repeating: refusal, count: attemptCountMax),
            rules: [.attempts(attempts)] + rules + [.newKeys(0), .proves])
    }

    /// The acts for a client on a platform, in their order. Chance decides about the order of those
    /// in the middle, so that no client can be written for it.
    static func all(
        _ platform: LabPlatform, _ chance: inout some RandomNumberGenerator
    ) -> [TrialAct] {
        enrolments + (platform == .android ? [expired] : []) + first
            + middle.shuffled(using: &chance) + last
    }

    private static let enrolments = [
        enrolment(
            "enrolment_unavailable", "the gateway cannot enrol for a second",
            .refuse(503, code: "store_unavailable", action: "retry_later", retryAfter: 1),
            newKeys: 1, rules: [.gaps(atLeast: [1000]), .sameAttestation]),
        enrolment(
            "enrolment_lost", "the answer to the enrolment is lost", .lose, newKeys: 0,
            rules: [.sameAttestation]),
    ]

    /// A phone makes its key for a challenge, so one that has expired ends the key.
    private static let expired = enrolment(
        "enrolment_expired", "the challenge of the key has expired",
        .refuse(401, code: "challenge_expired", action: "fetch_challenge"), newKeys: 1,
        rules: [.attempts(1...2)])

    private static let first = [
        request("first_request", "nothing goes wrong", rules: [.succeeds]),
        request(
            "next_request", "the last answer brought a challenge",
            rules: [.succeeds, .usesChallenge(ofAttempt: 0)]),
    ]

    private static let middle = [
        request(
            "challenge_expired", "401, and the challenge to sign again with",
            .refuse(401, code: "challenge_expired", action: "sign_again"), attempts: 1...2,
            rules: [.succeeds, .usesChallenge(ofAttempt: 1)]),
        refused(
            "refused_again", "401 each time",
            .refuse(401, code: "assertion_invalid", action: "sign_again"), attempts: 2...3),
        request("answer_lost", "the API has it, and the answer is lost", .lose),
        request("answer_cut", "the answer ends in the middle", .cut),
        request(
            "upstream_failed", "502: the API may have it",
            .refuse(502, code: "upstream_failed", action: "retry_later")),
        request("foreign_page", "a page of a proxy in front", .page(503)),
        request(
            "rate_limited", "429, and a second to wait",
            .refuse(429, code: "rate_limited", action: "retry_later", retryAfter: 1),
            attempts: 1...2, rules: [.succeeds, .gaps(atLeast: [1000])]),
        request(
            "store_unavailable", "503 twice, and no word for how long",
            .refuse(503, code: "store_unavailable", action: "retry_later"),
            .refuse(503, code: "store_unavailable", action: "retry_later"), attempts: 1...3,
            rules: [.succeeds, .gaps(atLeast: [1000, 2000])]),
        refused(
            "retry_policy", "503, and the answer says: once, after two seconds",
            .refuse(
                503, code: "gateway_busy", action: "retry_later",
                retry: #"{"after":2,"backoff":2,"max":1}"#), attempts: 2...2,
            rules: [.gaps(atLeast: [2000])]),
        request(
            "update_advised", "served, and this version ends soon", .advise, rules: [.succeeds]),
        refused(
            "update_demanded", "403: too old",
            .refuse(403, code: "app_outdated", action: "update_app")),
        refused(
            "refused_for_good", "403: nothing helps",
            .refuse(403, code: "distribution_not_allowed", action: "none")),
        refused(
            "unknown_action", "a refusal of a gateway to come",
            .refuse(403, code: "something_new", action: "something_new")),
        request("redirected", "the API points elsewhere", .redirect, rules: [.staysAtTarget]),
        request("clock_off", "the server's clock is a day behind", .oldDate, rules: [.succeeds]),
        request("restarted", "the app starts anew", .ask("restart"), rules: [.succeeds]),
    ]

    private static let last = [
        request(
            "key_unknown", "the gateway does not know the key",
            .refuse(401, code: "key_unknown", action: "attest_again"), attempts: 1...2, newKeys: 1,
            rules: [.succeeds, .bringsTicket]),
        refused(
            "key_unknown_again", "nor the one that was just made",
            .refuse(401, code: "key_unknown", action: "attest_again")),
        request(
            "reinstalled", "the app is installed anew, and has its ticket alone",
            .ask("reinstall"), newKeys: 1, rules: [.succeeds, .bringsTicket]),
        request("last_request", "nothing goes wrong any more", rules: [.succeeds]),
    ]
}
