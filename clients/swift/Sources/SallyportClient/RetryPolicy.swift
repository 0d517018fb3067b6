import Foundation

/// The rules for trying again after a failure. The advice in the gateway's answers
/// (``RetryAdvice``) has precedence.
public struct RetryPolicy: Sendable, Equatable {
    /// The most attempts for one request.
    public var attemptsMax = 3
    /// The longest wait of a request. If a longer one is needed, the request fails with an error
    /// that names the time.
    public var waitMax: TimeInterval = 10
    /// The first wait. Each failure after it doubles the wait.
    public var initialWait: TimeInterval = 1
    /// The longest wait between two attempts to enrol.
    public var enrolmentWaitMax: TimeInterval = 6 * 3600
    /// The time before a second new key may be made after the gateway asked for one, because Apple
    /// counts keys.
    public var newKeyInterval: TimeInterval = 3600

    public init() {}

    /// The wait after this many failures in a row: the longer of `retryAfter` and the first wait,
    /// which each further failure multiplies up to the limit. Up to a quarter is added at random,
    /// so that devices that failed together do not return together.
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

    /// The longest wait for another key, unless the gateway advises a longer one.
    private static let keyWaitMax: TimeInterval = 24 * 3600

    /// The wait for another key after this many useless ones in a row. The first of them was
    /// replaced at once. The cause may last, and Apple counts keys, so each further one doubles the
    /// wait.
    func keyWait(afterUselessKeys count: Int, advice: RetryAdvice?) -> TimeInterval {
        let interval = advice?.keyInterval ?? newKeyInterval
        let wait = interval * pow(2, Double(min(max(count - 2, 0), 30)))
        return max(min(wait, Self.keyWaitMax), interval)
    }

    /// The most attempts for a request.
    func attempts(_ advice: RetryAdvice?) -> Int { advice?.attempts ?? attemptsMax }
}

/// The advice in an answer of the gateway about another try: its member `retry`.
///
/// Values that make no sense are ignored, whichever server wrote the answer.
public struct RetryAdvice: Codable, Sendable, Equatable {
    /// The seconds before the first try, and the factor by which each further wait is longer.
    var after: Double?
    var backoff: Double?
    /// The seconds of the longest wait.
    var longest: Double?
    /// The number of times that the request may be sent again.
    var max: Int?
    /// The seconds before another new key.
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
