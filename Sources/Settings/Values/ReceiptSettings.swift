/// The settings of the renewal of receipts.
public struct ReceiptSettings: Hashable, Sendable {
    public var renews = true
    public var rate = RateLimitSettings.Rate(count: 20, period: .second)
    public var interval: Duration = .seconds(86_400)
    public var jitter: Duration = .seconds(6 * 3600)
    public var retry = ReceiptRetrySettings()
    public var lease: Duration = .seconds(30)

    /// The shortest time between requests. Timers, which count milliseconds, cannot keep a
    /// shorter one.
    public static let spacingNanosecondsMin: UInt64 = 2_000_000

    public init() {}
}

/// The pauses after answers that bring no receipt.
public struct ReceiptRetrySettings: Hashable, Sendable {
    /// The first pause of all receipts when Apple throttles, fails or cannot be reached. It doubles
    /// each time, up to ``longest``, unless Apple says how long.
    public var shortest: Duration = .seconds(10)
    public var longest: Duration = .seconds(3600)
    public var unauthorized: Duration = .seconds(600)
    public var failed: Duration = .seconds(3600)
    public var notFound: Duration = .seconds(7 * 86_400)
}
