package import EventLoop
package import KeyStore

/// Reports when the gateway hears of no revocations, the reason, and when it does again.
package final class RevocationWatch {
    private struct State: Equatable {
        let reason: String
        let isExpired: Bool
    }

    private let hearing: ChangeHearing?
    /// Nil while revocations are heard.
    private var told: ToldState<State?>

    package init(_ hearing: ChangeHearing?, log: any EventLog) {
        self.hearing = hearing
        told = ToldState(nil, log: log)
    }

    /// Must be called about once a second.
    package func look(at now: MonotonicInstant) {
        let silence = RevocationSilence(hearing, at: now)
        let state = silence.map { State(reason: $0.reason, isExpired: $0.isExpired) }
        told.change(to: state, at: now) {
            guard let silence else {
                return .init(
                    level: "info", name: "revocations_heard",
                    text: "the registry's changes can be read again")
            }
            return .init(
                level: "error", name: "revocations_unheard",
                text: "no change of the registry could be read for "
                    + "\(silence.age.components.seconds) s, so \(silence.consequence): "
                    + silence.reason,
                kind: "\(silence.isExpired) \(silence.reason)")
        }
    }
}
