/// What a count has taken and what it was given back, apart from each other.
///
/// Both sums only grow. So what two places know of a count is put together by the greater of each
/// sum, and nothing is counted twice.
public struct QuotaSums: Hashable, Sendable {
    public private(set) var taken: Int
    public private(set) var returned: Int

    /// The greatest sum: numbers in a script of Redis are exact up to this one. A count with a sum
    /// that is full grants nothing more.
    public static let sumMax = 1 << 53 - 1

    /// Sums beyond the bounds are set to them.
    public init(taken: Int = 0, returned: Int = 0) {
        self.taken = Self.bounded(taken)
        self.returned = Self.bounded(returned)
    }

    /// What was taken without what was given back. More may have been given back than was taken.
    public var used: Int { taken - returned }

    /// An amount, or a sum, within the bounds.
    public static func bounded(_ number: Int) -> Int { min(max(0, number), sumMax) }

    /// Makes a change, or leaves both sums as they are if the verdict is `.exhausted`.
    public mutating func make(_ change: QuotaCharge.Change, limit: Int) -> QuotaVerdict {
        switch change {
        case .take(let amount):
            let amount = Self.bounded(amount)
            guard used + amount <= limit, taken + amount <= Self.sumMax else {
                return .exhausted(used: used)
            }
            taken += amount
        case .look:
            guard used < limit, taken < Self.sumMax else { return .exhausted(used: used) }
        case .add(let amount): taken = Self.bounded(taken + Self.bounded(amount))
        case .giveBack(let amount): returned = Self.bounded(returned + Self.bounded(amount))
        case .reset:
            let both = max(taken, returned)
            (taken, returned) = (both, both)
        }
        return .granted(used: used)
    }

    /// Takes in what another place knows of the same count.
    public mutating func merge(_ other: QuotaSums) {
        taken = max(taken, other.taken)
        returned = max(returned, other.returned)
    }
}
