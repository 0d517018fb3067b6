/// The actions of a client during a fault, as they arrived.
struct TrialRecord {
    struct Attempt {
        let milliseconds: Int64
        /// True if the request signs the challenge that the last answer brought, or if none did.
        var signsOfferedChallenge = true
        /// The code with which the gateway itself refuses the attempt; nil if it accepts it.
        var refusal: String?
        /// The status that the client got.
        var status = 0
    }

    var attempts: [Attempt] = []
    var attestations: Set<[UInt8]> = []
    var newKeyCount = 0
    var strayRequestCount = 0
    /// The number of enrolments without the ticket that the client got last.
    var ticketlessCount = 0
    /// True if an assertion was sent twice.
    var repeatsAssertion = false

    /// The client's mistakes by the rules of an act.
    func mistakes(_ rules: [TrialRule]) -> [TrialMistake] {
        rules.compactMap { rule in
            mistake(rule).map { TrialMistake(text: $0, advice: rule.advice) }
        }
    }

    private var gaps: [Int64] {
        zip(attempts.dropFirst(), attempts).map { $0.milliseconds - $1.milliseconds }
    }

    private func mistake(_ rule: TrialRule) -> String? {
        switch rule {
        case .attempts(let range):
            if attempts.count < range.lowerBound {
                return "sent \(attempts.count) times, at least \(range.lowerBound)"
            }
            return attempts.count > range.upperBound
                ? "sent \(attempts.count) times, at most \(range.upperBound)" : nil
        case .succeeds:
            let isServed = attempts.contains { (200..<300).contains($0.status) }
            return isServed ? nil : "given up although it would have been served"
        case .proves:
            if repeatsAssertion { return "sent the same assertion twice" }
            return attempts.lazy.compactMap(\.refusal).first.map {
                "sent what the gateway itself refuses: \($0)"
            }
        case .newKeys(let count):
            return newKeyCount == count ? nil : "\(newKeyCount) new keys in place of \(count)"
        case .gaps(let atLeast):
            for (index, gap) in gaps.enumerated() {
                let least = atLeast[min(index, atLeast.count - 1)]
                if gap < least { return "sent again after \(gap) ms, not before \(least)" }
            }
            return nil
        case .usesChallenge(let index):
            guard index < attempts.count, !attempts[index].signsOfferedChallenge else { return nil }
            return "signed another challenge than the last answer's"
        case .staysAtTarget:
            return strayRequestCount > 0 ? "followed a redirection with an assertion" : nil
        case .sameAttestation:
            return attestations.count > 1
                ? "\(attestations.count) attestations in place of the same one again" : nil
        case .bringsTicket:
            return ticketlessCount > 0 ? "enrolled a key without the newest ticket" : nil
        }
    }
}
