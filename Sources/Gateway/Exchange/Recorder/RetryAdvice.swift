import JSON
import Judgement
import Settings

/// How a client may try again: the member `retry` of problem documents, so that apps need no rules
/// of their own.
///
/// The first wait is ``after`` seconds and each further one ``backoff`` times as long, up to
/// ``longest``. What a client has to do is the action; this says how often, and when.
struct RetryAdvice {
    var after: UInt64
    var backoff: Int64 = 2
    /// In seconds; nil where there are too few attempts for it to matter.
    var longest: Int64?
    /// How often the request may be sent again at most. Nil where only the waits bound it.
    var count: Int64?
    /// In seconds: how soon another new key may follow the one that is asked for. Apple counts
    /// keys.
    var newKeyAfter: Int64?

    /// Somebody waits for the answer to a request: three attempts in all, then an error.
    private static let requestCount: Int64 = 2
    private static let requestLongest: Int64 = 10
    /// Nobody waits for an enrolment, and a fleet that waits must not come back together.
    private static let enrolmentLongest: Int64 = 6 * 3600
    private static let newKeyInterval: Int64 = 3600

    /// The advice for an enrolment whose device or network fails.
    static let enrolment = RetryAdvice(
        after: 1, longest: enrolmentLongest, newKeyAfter: newKeyInterval)

    init(
        after: UInt64, longest: Int64? = nil, count: Int64? = nil, newKeyAfter: Int64? = nil
    ) {
        self.after = after
        self.longest = longest
        self.count = count
        self.newKeyAfter = newKeyAfter
    }

    /// Nil where nothing is to be tried again.
    init?(of refusal: Refusal, _ action: Reason.Action, at endpoint: AppEndpoint?) {
        let isEnrolment = endpoint == .attestVerify || endpoint == .attestChallenge
        let seconds = Self.seconds(of: refusal, action)
        switch action {
        case .retryLater where isEnrolment:
            self.init(after: seconds, longest: Self.enrolmentLongest)
        case .retryLater:
            self.init(after: seconds, longest: Self.requestLongest, count: Self.requestCount)
        case .signAgain, .fetchChallenge, .attestAgain:
            self.init(after: seconds, count: Self.requestCount)
            if isEnrolment || action == .attestAgain { newKeyAfter = Self.newKeyInterval }
        case .updateApp, .none:
            guard isEnrolment else { return nil }
            // Not this enrolment; another may come when the operator has changed something.
            self.init(after: UInt64(Self.enrolmentLongest))
            backoff = 1
        }
    }

    /// The first wait, which `Retry-After` gives as well where the answer has one.
    static func seconds(of refusal: Refusal, _ action: Reason.Action) -> UInt64 {
        let isLater = action == .retryLater || hasHeader(refusal.reason)
        return refusal.retryAfterSeconds ?? (isLater ? 1 : 0)
    }

    /// Whether the answer has `Retry-After`.
    static func hasHeader(_ reason: Reason) -> Bool {
        reason.status == 503 || reason.status == 429
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject("retry")
        writer.member("after", unsigned: after)
        writer.member("backoff", int: backoff)
        if let longest { writer.member("longest", int: longest) }
        if let count { writer.member("max", int: count) }
        if let newKeyAfter { writer.member("new_key_after", int: newKeyAfter) }
        writer.endObject()
    }
}
