public import Bytes

/// One count of a quota: what one subject has used of it in one period.
public struct QuotaCount: Hashable, Sendable {
    /// A pseudonym of the quota and the subject, which cannot be led back to an address.
    public let name: Bytes16
    /// The calendar period, in milliseconds since 1970-01-01T00:00:00Z. The start belongs to the
    /// count's identity, so a clock that is set back finds the old count again.
    public let period: Range<Int64>

    public init(name: Bytes16, period: Range<Int64>) {
        self.name = name
        self.period = period
    }
}

/// One change to a ``QuotaCount``.
public struct QuotaCharge: Hashable, Sendable {
    public enum Change: Hashable, Sendable {
        /// Takes this many, or nothing if fewer are left.
        case take(Int)
        /// Takes nothing; granted as long as something is left, and there is room to count it.
        case look
        /// Takes this many, even if fewer are left: what an answer turned out to cost.
        case add(Int)
        /// Gives this many back, or grants them: a request that was not sent, or an operator's
        /// grant. More may be left afterwards than the limit.
        case giveBack(Int)
        /// Sets what is used to nothing: gives it back, and takes what was granted beyond it.
        case reset
    }

    public let count: QuotaCount
    public let change: Change
    /// The most that may be taken in the period, at least 1.
    public let limit: Int

    public init(_ change: Change, of count: QuotaCount, limit: Int) {
        self.count = count
        self.change = change
        self.limit = limit
    }
}

/// The counter store's verdict on a charge.
public enum QuotaVerdict: Hashable, Sendable {
    /// The change was made. `used` is what was taken without what was given back, so it is negative
    /// after a grant to an unused count.
    case granted(used: Int)
    /// Too little was left, and nothing was changed.
    case exhausted(used: Int)
    /// The store was not asked, or it refused. Nothing was changed.
    case unavailable
    /// The store was not asked because a limit of this process is reached. Nothing was changed.
    case full
    /// The charge was sent, but no answer came, so it may have been made.
    case unknown
}
