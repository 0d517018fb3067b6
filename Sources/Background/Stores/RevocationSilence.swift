package import EventLoop
package import KeyStore

/// The state of a gateway that has not heard of revocations for longer than it should.
package struct RevocationSilence: Sendable {
    /// The age that is reported: twice the promised one, so that a single reconnection causes no
    /// alarm.
    private static let ageMax = Duration.seconds(2)

    package let age: Duration
    /// The reason why changes cannot be read.
    package let reason: String
    /// True if records are not cached any more.
    package let isExpired: Bool

    /// Nil if the gateway has heard of revocations lately, or if no other process can revoke keys.
    package init?(_ hearing: ChangeHearing?, at now: MonotonicInstant) {
        guard let hearing else { return nil }
        age = hearing.age(at: now)
        guard age > Self.ageMax else { return nil }
        reason = hearing.failure ?? "registry: no answer"
        isExpired = hearing.isExpired
    }

    /// The consequence for requests, to end a sentence with.
    package var consequence: String {
        isExpired
            ? "no key is cached any more, and each request asks the registry for its key"
            : "a key that is revoked now still passes if it is cached"
    }
}
