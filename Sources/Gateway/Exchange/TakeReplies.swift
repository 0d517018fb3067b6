import Attestation
import Background
import EventLoop
import KeyStore

/// Hands each reply to the part that has asked for it.
extension Exchange: WaitingRequest {
    func keyWasLookedUp(_ result: Result<CachedKey?, StoreError>, asOf newsNumber: UInt64) {
        prover.keyWasLookedUp(result, asOf: newsNumber)
    }

    func userWasLookedUp() {
        phase == .takeQuota ? accountant.userWasLookedUp() : judge.userWasLookedUp()
    }

    func enrolmentEnded(_ result: Result<EnrolmentOutcome, StoreError>) {
        endpoints.enrolmentEnded(result)
    }

    func bitsWereKept(_ result: Result<Bool, StoreError>) { adminDesk.bitsWereKept(result) }

    func registryTimedOut(waitingSince start: MonotonicInstant) {
        prover.registryTimedOut(waitingSince: start)
    }

    func incarnationWasLookedUp() { assertions.incarnationWasLookedUp() }

    func counterWasAdvanced(_ verdict: CounterVerdict) { assertions.counterWasAdvanced(verdict) }

    func counterWasAdvancedDurably(_ outcome: Result<DurableOutcome, StoreError>) {
        assertions.counterWasAdvancedDurably(outcome)
    }

    func quotaWasCharged(_ verdict: QuotaVerdict) { accountant.quotaWasCharged(verdict) }

    func tokenWasLookedUp(isSpent: Bool) { prover.tokenWasLookedUp(isSpent: isSpent) }

    func tokenWasSpent(_ verdict: CounterVerdict) { prover.tokenWasSpent(verdict) }

    func signatureWasChecked(_ outcome: SignatureBatch.Outcome) {
        assertions.signatureWasChecked(outcome)
    }

    func deviceReplied(_ reply: DeviceReply) { adminDesk.deviceReplied(reply) }

    func administrationEnded(_ answer: AdministrationAnswer) {
        adminDesk.administrationEnded(answer)
    }

    func endIfClientLeft() -> Bool { intake.endIfClientLeft() }
}
