import JSON
import Judgement
import Settings

/// Tells a client how to try again: the member `retry` of problem documents, which spares apps
/// rules of their own.
///
/// The first wait is ``after`` seconds, and each further wait is ``backoff`` times as long, up to
/// ``longest``. The action says what the client has to do; this says how often and when.
struct RetryAdvice {
    var after: UInt64
    var backoff: Int64 = 2
    /// The longest wait in seconds; nil if there are too few attempts to reach one.
    var longest: Int64?
    /// The largest number of further attempts; nil if only the waits limit them.
    var count: Int64?
    /// The seconds that have to pass before another new key, because Apple counts keys.
    var newKeyAfter: Int64?

    /// A user waits for the answer to a request, so the app makes three attempts in all.
    private static let requestCount: Int64 = 2
    private static let requestLongest: Int64 = 10
    /// No user waits for an enrolment, and the devices of a fleet must not all try again at once.
    private static let enrolmentLongest: Int64 = 6 * 3600
    private static let newKeyInterval: Int64 = 3600

    /// The advice for an enrolment that fails in the device or the network.
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

    /// Nil if the client should not try again.
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
            // This enrolment fails. Another may succeed once the operator has changed something.
            self.init(after: UInt64(Self.enrolmentLongest))
            backoff = 1
        }
    }

    /// The first wait in seconds, which `Retry-After` also gives if the answer has that header.
    static func seconds(of refusal: Refusal, _ action: Reason.Action) -> UInt64 {
        let isLater = action == .retryLater || hasHeader(refusal.reason)
        return refusal.retryAfterSeconds ?? (isLater ? 1 : 0)
    }

    /// True if the answer has `Retry-After`.
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
