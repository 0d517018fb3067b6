import Attestation
import Background
import Judgement
import Policy
import Settings

/// The rollout of attestations: `endpoints.attest_rollout`.
extension EndpointDesk {
    /// Refuses a challenge to installations that the rollout has not reached. By the name that it
    /// gives itself, which outlasts its keys: one that is told to attest again may; else by the key
    /// that it is to be bound to; else by its address, which changes with its network.
    ///
    /// The rollout spreads load and guards nothing: a client that chooses another name gets another
    /// chance.
    func checkAttestRollout(_ keyID: KeyID?) throws(Refusal) {
        let rollout = site.settings.endpoints.attestRollout
        // While the share is not known, it counts as 0: the fleet must not attest all at once.
        let percent = site.attestRollout.map { $0.percent ?? 0 } ?? rollout.percent
        guard percent < 100 else { return }
        let cohort = try attestCohort(keyID)
        guard !Rollout.includes(cohort: cohort, percent: percent) else { return }
        var refusal = Refusal(
            .rateLimited, .attestRollout,
            explanation: "This installation may attest later.")
        // Spread, so that waiting installations do not come back together.
        let seconds = UInt64(rollout.retryAfter.components.seconds)
        refusal.retryAfterSeconds = seconds + seconds * UInt64(cohort) / 100
        throw refusal
    }

    private func attestCohort(_ keyID: KeyID?) throws(Refusal) -> Int {
        guard let name = try queried("installation", else: .installation) else {
            return keyID.map { Rollout.cohort(of: $0.digest) } ?? judge.addressCohort
        }
        guard (1...Self.installationByteCountMax).contains(name.count) else {
            throw Refusal(
                .badRequest, .installation,
                explanation: "installation is empty or longer than 128 bytes.")
        }
        return Rollout.cohort(ofName: name.span)
    }

    /// The longest name of an installation. A UUID has 36 characters.
    private static let installationByteCountMax = 128
}
