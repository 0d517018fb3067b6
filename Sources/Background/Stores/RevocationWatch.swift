package import EventLoop
package import KeyStore

/// Reports when the gateway hears of no revocations, the reason, and when it does again.
package final class RevocationWatch {
    private struct Told: Equatable {
        let reason: String
        let isExpired: Bool
    }

    private let hearing: ChangeHearing?
    private let log: any EventLog
    private var told: Told?
    private var repeated = RepeatedEvents()

    package init(_ hearing: ChangeHearing?, log: any EventLog) {
        self.hearing = hearing
        self.log = log
    }

    /// Must be called about once a second.
    package func look(at now: MonotonicInstant) {
        guard let silence = RevocationSilence(hearing, at: now) else {
            guard told != nil else { return }
            told = nil
            return log.event(
                level: "info", "revocations_heard", "the registry's changes can be read again")
        }
        let next = Told(reason: silence.reason, isExpired: silence.isExpired)
        guard next != told else { return }
        told = next
        log.event(
            level: "error", "revocations_unheard",
            repeated.turn(
                "revocations_unheard",
                "no change of the registry could be read for \(silence.age.components.seconds) s, "
                    + "so \(silence.consequence): \(silence.reason)",
                of: "\(silence.isExpired) \(silence.reason)", at: now))
    }
}
