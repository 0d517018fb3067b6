public import Attestation
public import Bytes

/// The challenge that a verified request answers, as the counter store needs it.
public struct ChallengeUse: Hashable, Sendable {
    public let id: Bytes16
    /// The incarnation under which the challenge was sealed.
    public let incarnation: Incarnation
    /// The end of the challenge by the store's clock. Until then the store remembers that it is
    /// spent.
    public let expiresAt: Int64
    /// True if the challenge was sealed for this very key. It is then kept with the key, otherwise
    /// by its id.
    public let isBound: Bool

    public init(
        id: Bytes16, incarnation: Incarnation, expiresAt: Int64, isBound: Bool = true
    ) {
        self.id = id
        self.incarnation = incarnation
        self.expiresAt = expiresAt
        self.isBound = isBound
    }
}

/// A token bucket that a key has in the counter store, so that all gateways share it (ITU-T I.371).
public struct CounterRate: Hashable, Sendable {
    /// A number that limits of one name have on every gateway.
    public let identity: UInt64
    /// The microseconds in which one token comes back, and in which all of them do.
    public let intervalMicroseconds: Int
    public let depthMicroseconds: Int

    public init(identity: UInt64, intervalMicroseconds: Int, depthMicroseconds: Int) {
        self.identity = identity
        self.intervalMicroseconds = intervalMicroseconds
        self.depthMicroseconds = depthMicroseconds
    }
}

/// One request to the counter store: accept a counter and spend its challenge, or neither. A key
/// that does not count has its challenge spent and nothing else.
public struct CounterAdvance: Hashable, Sendable {
    public let keyID: KeyID
    /// The way in which the request cannot be repeated.
    public let uniqueness: Uniqueness
    /// 1 for `strict`; `window(N)` accepts counters less than N below the highest one.
    public let windowSize: Int
    public let challenge: ChallengeUse
    /// Counters up to the registry's floor are refused even if the store does not know them.
    public let floor: UInt32
    /// The buckets that must all have a token left. Each gives one if the advance is accepted, and
    /// none otherwise. The embedded store leaves them to its process.
    public let rates: [CounterRate]

    /// Takes a verified request, which only the verifier can make: advancing before the signature
    /// was checked does not compile.
    public init(
        _ request: VerifiedRequest, of keyID: KeyID, windowSize: Int, challenge: ChallengeUse,
        floor: UInt32, rates: [CounterRate]
    ) {
        self.init(
            keyID: keyID, request.facts.uniqueness, windowSize: windowSize, challenge: challenge,
            floor: floor, rates: rates)
    }

    /// Makes an advance without a device, for the stores' own tests.
    package init(
        keyID: KeyID, _ uniqueness: Uniqueness, windowSize: Int, challenge: ChallengeUse,
        floor: UInt32, rates: [CounterRate] = []
    ) {
        self.keyID = keyID
        self.uniqueness = uniqueness
        self.windowSize = windowSize
        self.challenge = challenge
        self.floor = floor
        self.rates = rates
    }
}

/// The counter store's verdict on an advance. Only `accepted` and `stateHealed` change the store,
/// and `stateHealed` only forbids more than before.
public enum CounterVerdict: Hashable, Sendable {
    case accepted
    /// The challenge was spent before with this very counter or mark: the same request again.
    case replayed
    /// The challenge was spent before with another one: the app used it twice.
    case challengeSpent
    /// The counter was accepted before, with another challenge: two devices hold the key, or a
    /// device was set back to an earlier state.
    case counterUsed
    /// The counter lies below the window, or at or below the floor. Whether it was accepted before
    /// is not known, or does not matter.
    case counterTooLow
    /// The rate at this index of the request's rates is used up.
    case rateLimited(Int, waitMilliseconds: Int)
    case revoked
    /// The challenge's life is over, by the store's clock.
    case challengeExpired
    /// The challenge was sealed under another incarnation of the store.
    case incarnationChanged
    /// The store's record of the key was damaged. It continues at this counter, and whether this
    /// counter was used can no longer be known.
    case stateHealed
    /// The store was not asked, or it refused. Nothing was changed.
    case unavailable
    /// The store was not asked because a limit of this process is reached. Nothing was changed.
    case full
    /// The advance was sent, but no answer came, so it may have been accepted. Never ask again with
    /// the same counter.
    case unknown
}
