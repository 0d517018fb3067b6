/// Chooses signatures with a known verdict for free lanes: good and bad ones by turns, so that a
/// library that accepts everything, or refuses everything, gives itself away.
struct KnownLanes {
    /// The known verdict of each lane; nil for a lane that is not free.
    typealias Verdicts = InlineArray<8, Bool?>

    /// The number of batches so far with each number of free lanes. Each number has turns of its
    /// own, so that, in whatever order batches come, each of two or more free lanes has a good
    /// signature and a bad one by turns.
    private var turns = InlineArray<9, Int>(repeating: 0)
    private var spareCount = 0

    /// The lane that the next batch without a free one gives up. Lanes take turns.
    mutating func nextSpare() -> Int {
        defer { spareCount &+= 1 }
        return spareCount % MultiBufferLanes.count
    }

    /// Fills the free lanes. A single one gets a bad signature, because a forgery that passes is
    /// worse than a request that is refused.
    mutating func fill(
        _ isFree: InlineArray<8, Bool>, of lanes: inout MultiBufferLanes
    ) -> Verdicts {
        var verdicts = Verdicts(repeating: nil)
        let count = isFree.indices.count { isFree[$0] }
        let turn = turns[count]
        turns[count] &+= 1
        var order = turn
        for lane in isFree.indices where isFree[lane] {
            let isValid = order % count % 2 == 1
            order += 1
            // After a whole round of turns each kind has come to each lane.
            let kind = turn / count + lane
            lanes.set(lane, Self.signature(isValid: isValid, kind))
            verdicts[lane] = isValid
        }
        return verdicts
    }

    private static func signature(isValid: Bool, _ kind: Int) -> P256SignedDigest {
        let all = isValid ? MultiBufferSelfTest.valid : MultiBufferSelfTest.invalid
        return all[kind % all.count]
    }
}
