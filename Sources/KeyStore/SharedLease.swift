public import EventLoop

/// One gateway's side of a lease on work that only one gateway at a time may do.
///
/// The holder renews the lease after a third of its life. It counts that life on its own monotonic
/// clock from before each write was sent, while the store counts from when it was written, so the
/// holder lets go first; a twentieth is left for clocks that run at different speeds. If something
/// must not happen twice even so (the store's clock stepped, or a holder was stopped in the middle
/// of its work), it is fenced with ``term(at:)``. The term grows with each holder. A write that
/// depends on the lease names its term, and the store refuses the write if the entry has another
/// one.
///
/// There is no clock and no I/O: ``write(at:)`` says what to write, ``answered(_:)`` takes the
/// answer.
public struct SharedLease: Sendable {
    public let name: String
    /// The bytes that tell holders apart. They belong to one start of a gateway, not to its
    /// machine.
    public let holder: [UInt8]
    /// The life of the lease. A new value counts from the next write on.
    public var lifetime: Duration

    private var known: SharedEntry?
    /// The end of the lease as its holder reckons it; nil if this gateway does not hold it.
    private var heldUntil: MonotonicInstant?
    /// The time before which ``write(at:)`` has nothing to write; nil before the first one.
    public private(set) var nextWrite: MonotonicInstant?
    /// The time at which the write that is under way was sent.
    private var sentAt: MonotonicInstant?

    /// `holder`: random bytes made at the start.
    public init(name: String, holder: [UInt8], lifetime: Duration) {
        self.name = name
        self.holder = holder
        self.lifetime = lifetime
    }

    /// The fencing number, nil if the lease is not held now.
    public func term(at now: MonotonicInstant) -> Int64? {
        guard let heldUntil, now < heldUntil else { return nil }
        return known?.term
    }

    /// The write by which to get the lease or to keep it, or nil if an answer is awaited or it is
    /// too early. Ask every few seconds.
    public mutating func write(at now: MonotonicInstant) -> SharedWrite? {
        guard sentAt == nil, nextWrite.map({ $0 <= now }) ?? true else { return nil }
        sentAt = now
        return write(lifetime)
    }

    /// The write by which another gateway may take the lease at once, or nil if it is not held.
    public mutating func release(at now: MonotonicInstant) -> SharedWrite? {
        guard term(at: now) != nil else { return nil }
        heldUntil = nil
        return write(.zero)
    }

    /// Takes the answer to the last ``write(at:)``, or to a ``release(at:)``, after which nothing
    /// is held.
    public mutating func answered(
        _ result: Result<SharedOutcome, StoreError>, at now: MonotonicInstant
    ) {
        let sentAt = self.sentAt ?? now
        self.sentAt = nil
        nextWrite = now + lifetime / 3
        guard case .success(let outcome) = result else {
            // Perhaps it was written: the lease is held for as long as before, and soon tried
            // again.
            nextWrite = now + lifetime / 10
            return
        }
        known = outcome.reading.entry
        let isAlive = known.map { !$0.isExpired(at: outcome.reading.now) } ?? false
        if outcome.isWritten, isAlive {
            heldUntil = sentAt + lifetime * 19 / 20
            nextWrite = sentAt + lifetime / 3
        } else if isAlive, known?.value == holder, let expiresAt = known?.expiresAt {
            // The answer to an own write was lost. Its life is known from the store's own clock.
            let left = Duration.milliseconds(expiresAt - outcome.reading.now)
            heldUntil = sentAt + min(left, lifetime) * 19 / 20
            nextWrite = now
        } else {
            heldUntil = nil
        }
    }

    /// The write of the lease. The holder replaces its own value; another gateway may replace it
    /// only after its life has ended.
    private func write(_ lifetime: Duration) -> SharedWrite {
        let isOwn = known?.value == holder
        var write = SharedWrite(
            name: name, value: holder, expected: isOwn ? known : nil, lifetime: lifetime)
        write.takesExpired = true
        return write
    }
}
