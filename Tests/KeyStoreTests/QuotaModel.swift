import Bytes
import KeyStore

/// The plainest counts of quotas: nothing is bounded, and nothing is forgotten.
struct QuotaModel {
    private(set) var used: [QuotaCount: Int] = [:]

    mutating func make(_ charge: QuotaCharge) -> QuotaVerdict {
        let before = used[charge.count] ?? 0
        switch charge.change {
        case .take(let amount):
            guard before + amount <= charge.limit else { return .exhausted(used: before) }
            used[charge.count] = before + amount
        case .look:
            guard before < charge.limit else { return .exhausted(used: before) }
        case .add(let amount): used[charge.count] = before + amount
        case .giveBack(let amount): used[charge.count] = before - amount
        case .reset: used[charge.count] = 0
        }
        return .granted(used: used[charge.count] ?? 0)
    }

    mutating func set(_ number: Int, for count: QuotaCount) { used[count] = number }

    /// `resets`: how many of ten charges set a count to nothing.
    static func charge(
        _ counts: [QuotaCount], resets: Int = 0, using generator: inout SeededGenerator
    ) -> QuotaCharge {
        let amount = Int.random(in: 0...5, using: &generator)
        let change: QuotaCharge.Change =
            switch Int.random(in: -resets..<10 - resets, using: &generator) {
            case ..<0: .reset
            case 0..<5: .take(amount)
            case 5..<7: .look
            case 7: .add(amount)
            default: .giveBack(amount)
            }
        return QuotaCharge(
            change, of: counts[Int.random(in: 0..<counts.count, using: &generator)],
            limit: Int.random(in: 1...40, using: &generator))
    }
}
