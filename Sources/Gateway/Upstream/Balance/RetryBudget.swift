/// The number of retries that an upstream can bear: a share of its requests and a few a second
/// besides, so that retries cannot multiply the load of failing servers (as in Finagle).
struct RetryBudget {
    /// The hundredths of a retry that each request adds.
    private let percent: Int
    /// The balance in hundredths of a retry.
    private var balance = 0
    private var reserve = Self.reserveMax
    private var refilledAt: UInt64 = 0

    init(percent: Int) { self.percent = percent }

    /// Adds the share of a request.
    mutating func deposit() {
        let sum = balance + percent
        balance = sum < Self.balanceMax ? sum : Self.balanceMax
    }

    /// Takes one retry out. False if the budget has none. `now` in nanoseconds.
    mutating func withdraw(now: UInt64) -> Bool {
        guard percent > 0 else { return false }
        if balance >= 100 {
            balance -= 100
            return true
        }
        if now > refilledAt {
            let elapsed = min(now - refilledAt, 1_000_000_000)
            let earned = Int(elapsed / Self.nanosecondsPerReserved)
            if earned > 0 {
                reserve = min(Self.reserveMax, reserve + earned)
                refilledAt = now
            }
        }
        guard reserve > 0 else { return false }
        reserve -= 1
        return true
    }

    /// The highest balance, a hundred retries: a burst may take them at once.
    static let balanceMax = 100 * 100
    /// The highest reserve: the retries of a second, for upstreams with few requests.
    static let reserveMax = 10
    static let nanosecondsPerReserved: UInt64 = 100_000_000
}
