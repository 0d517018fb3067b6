/// How many retries an upstream bears: a share of its requests and a few a second besides, so that
/// retries cannot multiply the load of servers that are failing under it (as Finagle does).
struct RetryBudget {
    /// Hundredths of a retry that each request pays in.
    private let percent: Int
    /// In hundredths.
    private var balance = 0
    private var reserve = Self.reserveMax
    private var refilledAt: UInt64 = 0

    init(percent: Int) { self.percent = percent }

    /// A request was made.
    mutating func deposit() {
        let sum = balance + percent
        balance = sum < Self.balanceMax ? sum : Self.balanceMax
    }

    /// Whether one more retry is in the budget; it is taken out. `now` in nanoseconds.
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

    /// A hundred retries: what a burst may take at once.
    static let balanceMax = 100 * 100
    /// A second's worth, for upstreams with few requests.
    static let reserveMax = 10
    static let nanosecondsPerReserved: UInt64 = 100_000_000
}
