public import AppAttest
public import Bytes

/// The challenge that a verified assertion answers, as the counter store needs it.
public struct ChallengeUse: Hashable, Sendable {
    public let id: Bytes16
    /// The incarnation under which the challenge was sealed.
    public let incarnation: Incarnation
    /// How long the store must remember that the challenge is spent.
    public let remainingMilliseconds: Int

    public init(id: Bytes16, incarnation: Incarnation, remainingMilliseconds: Int) {
        self.id = id
        self.incarnation = incarnation
        self.remainingMilliseconds = remainingMilliseconds
    }
}

/// One request to the counter store: accept this counter and spend this challenge, or neither.
public struct CounterAdvance: Hashable, Sendable {
    public let keyID: KeyID
    public let counter: UInt32
    /// 1 for `strict`; `window(N)` accepts counters less than N below the highest one.
    public let windowSize: Int
    public let challenge: ChallengeUse
    /// Counters up to the registry's floor are refused even where the store knows none.
    public let floor: UInt32

    /// Takes the counter of a verified assertion, which only the verifier can make: advancing
    /// before the signature was checked does not compile.
    public init(
        _ assertion: VerifiedAssertion, of keyID: KeyID, windowSize: Int, challenge: ChallengeUse,
        floor: UInt32
    ) {
        self.init(
            keyID: keyID, counter: assertion.counter, windowSize: windowSize, challenge: challenge,
            floor: floor)
    }

    /// For the stores' own tests, which have no device.
    package init(
        keyID: KeyID, counter: UInt32, windowSize: Int, challenge: ChallengeUse, floor: UInt32
    ) {
        self.keyID = keyID
        self.counter = counter
        self.windowSize = windowSize
        self.challenge = challenge
        self.floor = floor
    }
}

/// What the counter store says. Everything but `accepted` leaves it unchanged.
public enum CounterVerdict: Hashable, Sendable {
    case accepted
    /// The challenge was spent before with this very counter: the same assertion again.
    case replayed
    /// The challenge was spent before with another counter: the app used it twice.
    case challengeSpent
    /// The counter was accepted before, with another challenge, or is below the window.
    case counterUsed
    case revoked
    /// The challenge was sealed under another incarnation of the store.
    case incarnationChanged
    /// Not asked, or refused by the store: nothing was changed.
    case unavailable
    /// Sent, and no answer came: it may have been accepted. Never ask again with the same counter.
    case unknown
}
