/// Chooses the signatures for free lanes, of which the verdict is known: good and bad by turns, so
/// that a library that accepts everything shows itself, and one that refuses everything.
struct KnownLanes {
    /// For each lane the known verdict; nil where a lane is not free.
    typealias Verdicts = InlineArray<8, Bool?>

    /// How many batches had so many free lanes. Each number turns by itself: whatever the order in
    /// which batches come, each of two or more free lanes has a good one and a bad one by turns.
    private var turns = InlineArray<9, Int>(repeating: 0)
    private var spareCount = 0

    /// The lane that the next batch without a free one gives up: each in its turn.
    mutating func nextSpare() -> Int {
        defer { spareCount &+= 1 }
        return spareCount % MultiBufferLanes.count
    }

    /// Fills the free lanes, the only one with a bad signature: a forgery that passes is worse than
    /// a request that is refused.
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
            // Each kind comes to each lane once the turns have gone round.
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
