public import Attestation
public import Bytes

/// One worker's access to the counter store, which changes with each request.
///
/// Every call is made on the worker's thread. `reply` is called once, there, and perhaps before the
/// call returns.
public protocol CounterStore: AnyObject {
    /// True if other gateways use the same store.
    var isShared: Bool { get }

    /// True if the store can be asked now.
    var isAvailable: Bool { get }

    /// The reason why it cannot be asked, for the event log.
    var failureText: String { get }

    /// Has it inform `observer` from now on. To be called before the worker runs.
    func report(to observer: CounterStoreObserver)

    /// The time by which a challenge with this id, for this key or for any, is judged. Nil before
    /// the store was first reached.
    func moment(keyID: KeyID?, challenge: Bytes16) -> StoreMoment?

    /// The time by which such a challenge is sealed: as ``moment(keyID:challenge:)``, unless
    /// another worker has learned of another incarnation since.
    func sealingMoment(keyID: KeyID?, challenge: Bytes16) -> StoreMoment?

    /// True if such a challenge, sealed under `incarnation`, may be good although that is not the
    /// incarnation of ``moment(keyID:challenge:)``. Then the store has to be asked.
    func mayHaveBegun(_ incarnation: Incarnation, keyID: KeyID?, challenge: Bytes16) -> Bool

    /// Asks the store for its present incarnation, after which ``moment(keyID:challenge:)`` and
    /// ``mayHaveBegun(_:keyID:challenge:)`` know whether it is `incarnation`.
    func look(
        for incarnation: Incarnation, keyID: KeyID?, challenge: Bytes16,
        reply: @escaping () -> Void)

    /// Accepts the counter and spends the challenge, or neither.
    func advance(_ request: CounterAdvance, reply: @escaping (CounterVerdict) -> Void)

    /// Does the same if the store can answer at once. Nil if the caller would have to wait; then
    /// nothing was done.
    func advanceAtOnce(_ request: CounterAdvance) -> CounterVerdict?

    /// Counts together with other gateways; the reply is nil if nothing is known. A store that is
    /// not shared never replies.
    func tally(_ tally: SharedTally, reply: @escaping (SharedCounts?) -> Void)

    /// Accepts a token of another issuer once: `.accepted` or `.replayed`. Any other verdict means
    /// that the store could not tell. The token is remembered for `life`.
    func spendToken(
        _ id: Bytes16, forMilliseconds life: Int, reply: @escaping (CounterVerdict) -> Void)

    /// True if the token was accepted before; false also if the store could not tell. `life`: the
    /// time for which the token is remembered.
    func isTokenSpent(_ id: Bytes16, forMilliseconds life: Int, reply: @escaping (Bool) -> Void)

    /// Changes the count of a quota. Charges of one count take effect one after another.
    func charge(_ charge: QuotaCharge, reply: @escaping (QuotaVerdict) -> Void)

    /// Forgets what has expired, if the store does not do so by itself. For a slow timer of one
    /// worker.
    func sweep()

    /// Settles what is in flight, then lets go of the store for good.
    func close()
}

extension CounterStore {
    public func sealingMoment(keyID: KeyID?, challenge: Bytes16) -> StoreMoment? {
        moment(keyID: keyID, challenge: challenge)
    }

    public func mayHaveBegun(
        _ incarnation: Incarnation, keyID: KeyID?, challenge: Bytes16
    ) -> Bool { false }

    public func look(
        for incarnation: Incarnation, keyID: KeyID?, challenge: Bytes16,
        reply: @escaping () -> Void
    ) { reply() }

    public func advanceAtOnce(_ request: CounterAdvance) -> CounterVerdict? { nil }
}

/// The callbacks by which a counter store informs its worker, on the worker's thread.
public struct CounterStoreObserver {
    /// Called with whether the store can be asked, whenever that changes. Until the first call it
    /// cannot.
    public let availabilityChanged: (Bool) -> Void
    /// The store may have forgotten what it accepted, while this process goes on.
    public let lost: () -> Void
    /// Called with the number of accepted requests that are not known to be on as many servers as
    /// they should be.
    public let unconfirmed: (Int) -> Void
    /// The store answered, but did not do what it was asked, for this reason. Called each time.
    public let refused: (String) -> Void

    public init(
        availabilityChanged: @escaping (Bool) -> Void, lost: @escaping () -> Void,
        unconfirmed: @escaping (Int) -> Void, refused: @escaping (String) -> Void
    ) {
        self.availabilityChanged = availabilityChanged
        self.lost = lost
        self.unconfirmed = unconfirmed
        self.refused = refused
    }
}
