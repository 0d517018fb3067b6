import Attestation
import Background
import EventLoop
import KeyStore

/// A request that waits for a reply of its worker's services, which tell it the reply.
protocol WaitingRequest: AnyObject {
    /// Changes when the object is used for another request.
    var number: UInt64 { get }
    /// The configuration by which it is judged.
    var site: Site { get }
    /// The reply that it waits for.
    var awaited: Awaited { get set }

    func keyWasLookedUp(_ result: Result<CachedKey?, StoreError>, asOf newsNumber: UInt64)
    /// The services have learned the user of its key, or have failed to.
    func userWasLookedUp()
    func enrolmentEnded(_ result: Result<EnrolmentOutcome, StoreError>)
    func bitsWereKept(_ result: Result<Bool, StoreError>)
    /// The registry has not answered in time.
    func registryTimedOut(waitingSince start: MonotonicInstant)

    func incarnationWasLookedUp()
    func counterWasAdvanced(_ verdict: CounterVerdict)
    func counterWasAdvancedDurably(_ outcome: Result<DurableOutcome, StoreError>)
    func quotaWasCharged(_ verdict: QuotaVerdict)
    func tokenWasLookedUp(isSpent: Bool)
    func tokenWasSpent(_ verdict: CounterVerdict)

    func signatureWasChecked(_ outcome: SignatureBatch.Outcome)
    func deviceReplied(_ reply: DeviceReply)
    func administrationEnded(_ answer: AdministrationAnswer)

    /// Ends if its client has left, and returns true then.
    func endIfClientLeft() -> Bool
}
