import Foundation

/// How often, and how soon, something that failed is tried again, as long as the gateway says
/// nothing else: what its answers say (``RetryAdvice``) comes first.
public struct RetryPolicy: Sendable, Equatable {
    /// How often one request is sent at most.
    public var attemptsMax = 3
    /// The longest wait that a request sits through. A longer one is an error, which says until
    /// when.
    public var waitMax: TimeInterval = 10
    /// The first wait. Each failure after it doubles the wait.
    public var initialWait: TimeInterval = 1
    /// The longest wait between two attempts to enrol.
    public var enrolmentWaitMax: TimeInterval = 6 * 3600
    /// How soon a second new key may be made after the gateway asked for one. Apple counts keys.
    public var newKeyInterval: TimeInterval = 3600

    public init() {}

    /// The wait after so many failures in a row: `retryAfter`, or so many times as long as the last
    /// one. Up to a quarter is added by chance, so that devices which failed together do not return
    /// together.
    func wait(
        afterFailures count: Int, retryAfter: TimeInterval?, limit: TimeInterval,
        advice: RetryAdvice?, chance: Double
    ) -> TimeInterval {
        let first = advice?.first ?? initialWait
        let factor = advice?.factor ?? 2
        let longest = max(advice?.limit ?? limit, first)
        let wait = min(first * pow(factor, Double(min(max(count - 1, 0), 30))), longest)
        return max(retryAfter ?? 0, wait) * (1 + chance / 4)
    }

    /// How often a request is sent at most.
    func attempts(_ advice: RetryAdvice?) -> Int { advice?.attempts ?? attemptsMax }
}

/// The advice in an answer of the gateway about another try: its member `retry`.
///
/// Values that make no sense are ignored, whichever server wrote the answer.
public struct RetryAdvice: Codable, Sendable, Equatable {
    /// Seconds before the first try, and how many times as long each further wait is.
    var after: Double?
    var backoff: Double?
    /// Seconds that no wait exceeds.
    var longest: Double?
    /// How often the request may be sent again.
    var max: Int?
    /// Seconds before another new key.
    var newKeyAfter: Double?

    enum CodingKeys: String, CodingKey {
        case after, backoff, longest, max
        case newKeyAfter = "new_key_after"
    }

    /// The longest wait that an answer can ask for.
    static let secondsMax: Double = 7 * 24 * 3600
    private static let attemptsMax = 10

    private static func seconds(_ value: Double?) -> TimeInterval? {
        value.map { Swift.min(Swift.max($0, 0), secondsMax) }
    }

    var first: TimeInterval? { Self.seconds(after) }
    var factor: Double? { backoff.map { Swift.min(Swift.max($0, 1), 10) } }
    var limit: TimeInterval? { Self.seconds(longest) }
    var attempts: Int? { max.map { 1 + Swift.min(Swift.max($0, 0), Self.attemptsMax - 1) } }
    var keyInterval: TimeInterval? { Self.seconds(newKeyAfter) }
}
