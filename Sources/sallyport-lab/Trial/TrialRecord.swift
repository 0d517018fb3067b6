/// The actions of a client during a fault.
struct TrialRecord {
    struct Attempt {
        let milliseconds: Int64
        /// The signed challenge, if it can be read.
        let challenge: String?
        let status: Int
    }

    var attempts: [Attempt] = []
    var attestations: Set<[UInt8]> = []
    var newKeyCount = 0
    /// The number of challenges fetched while the last answer's was unused.
    var needlessFetchCount = 0
    var strayRequestCount = 0
    /// The challenges that refusals of this act carried.
    var offeredChallenges: [String] = []

    /// The client's mistakes by the rules of an act, each in words.
    func mistakes(_ rules: [TrialRule]) -> [String] { rules.compactMap(mistake) }

    private var gaps: [Int64] {
        zip(attempts.dropFirst(), attempts).map { $0.milliseconds - $1.milliseconds }
    }

    private func mistake(_ rule: TrialRule) -> String? {
        switch rule {
        case .attempts(let atMost):
            return attempts.count > atMost
                ? "sent \(attempts.count) times, at most \(atMost)" : nil
        case .succeeds:
            let isServed = attempts.contains { (200..<300).contains($0.status) }
            return isServed ? nil : "given up although it would have been served"
        case .newKeys(let count):
            return newKeyCount == count ? nil : "\(newKeyCount) new keys in place of \(count)"
        case .gaps(let atLeast):
            for (index, gap) in gaps.enumerated() {
                let least = atLeast[min(index, atLeast.count - 1)]
                if gap < least { return "sent again after \(gap) ms, not before \(least)" }
            }
            return nil
        case .usesChallenge:
            guard attempts.count > 1, let challenge = attempts[1].challenge,
                !offeredChallenges.contains(challenge)
            else { return nil }
            return "signed another challenge than the refusal's"
        case .fetchesNoChallenge:
            return needlessFetchCount > 0
                ? "fetched a challenge although the last answer brought one" : nil
        case .staysAtTarget:
            return strayRequestCount > 0 ? "followed a redirection with an assertion" : nil
        case .sameAttestation:
            return attestations.count > 1
                ? "\(attestations.count) attestations in place of the same one again" : nil
        }
    }
}
