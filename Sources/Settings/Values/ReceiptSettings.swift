/// How receipts are renewed.
public struct ReceiptSettings: Hashable, Sendable {
    /// Whether they are at all: of apps whose team has a key for Apple's services.
    public var renews = true
    /// Requests to Apple, of all gateways together.
    public var rate = RateLimitSettings.Rate(count: 20, period: .second)
    /// From the creation of a receipt to its renewal; never before its *not before*.
    public var interval: Duration = .seconds(86_400)
    /// By how much later a receipt is renewed, so that not all of a day are due in one hour.
    public var jitter: Duration = .seconds(6 * 3600)
    public var retry = ReceiptRetrySettings()
    /// How long a gateway that died keeps the others from going on.
    public var lease: Duration = .seconds(30)

    /// Timers count milliseconds.
    public static let spacingNanosecondsMin: UInt64 = 2_000_000

    public init() {}
}

/// How long to wait after answers that bring no receipt.
public struct ReceiptRetrySettings: Hashable, Sendable {
    /// All receipts, where Apple throttles, fails or is out of reach: from this, twice as long each
    /// time, up to ``longest``, unless Apple says how long.
    public var shortest: Duration = .seconds(10)
    public var longest: Duration = .seconds(3600)
    /// The receipts of a team whose key Apple does not take.
    public var unauthorized: Duration = .seconds(600)
    /// One receipt whose exchange failed: twice as long each time.
    public var failed: Duration = .seconds(3600)
    /// One receipt that Apple does not know, or that is too old.
    public var notFound: Duration = .seconds(7 * 86_400)

    public init() {}
}
