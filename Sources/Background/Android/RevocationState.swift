package import AndroidAttestation
package import EventLoop
import Settings

/// The list of withdrawn Android attestation certificates that is in force.
///
/// The control thread fetches it; workers ask at each enrolment. Any thread may use it.
package final class RevocationState: Sendable {
    /// The result of a question for the list.
    package enum Outcome: String, CaseIterable, Sendable {
        case fetched
        /// There was no answer, an incomplete or too long one, or the file could not be read.
        case failed
        /// The answer had another status than 200, such as that of a redirect.
        case refused
        /// The answer was no revocation list.
        case malformed
        /// The list is so unlike the one before that it is not believed yet.
        case implausible
    }

    package struct Figures: Sendable {
        package fileprivate(set) var counts: [Outcome: UInt64] = [:]
        /// The number of entries of the list; nil if there is none.
        package fileprivate(set) var entryCount: Int?
        /// The list's age when it was taken, and that time; nil if there is none.
        fileprivate var taken: (age: Duration, at: MonotonicInstant)?
        /// The age from which the list does not count.
        package fileprivate(set) var ageMax = Duration.zero
        /// The time of the next question; nil before the first one.
        package fileprivate(set) var dueAt: MonotonicInstant?
        /// The reason why the list could not be renewed the last time; nil if it could.
        package fileprivate(set) var failure: String?
        /// The result of that question; nil likewise.
        package fileprivate(set) var failedBy: Outcome?
        /// The keys that were revoked because of lists, since this gateway started.
        package fileprivate(set) var revokedKeyCount: UInt64 = 0
        /// The time of the last of these revocations.
        package fileprivate(set) var revokedAt: MonotonicInstant?
        /// The reason why keys could not be revoked the last time; nil if they could.
        package fileprivate(set) var revokingFailure: String?

        /// The time since the server sent the list, or its file changed; nil if there is none. The
        /// list may have been in caches, and the machine may have been restarted since.
        package func age(at now: MonotonicInstant) -> Duration? {
            taken.map { $0.age + (now - $0.at) }
        }

        /// True if a list is there that counts.
        package func isInForce(at now: MonotonicInstant) -> Bool {
            age(at: now).map { $0 < ageMax } ?? false
        }
    }

    private enum Mode {
        /// No list is looked at: it is off, or no app is an Android one.
        case off
        case needed
    }

    private struct State {
        /// Needed from the start, so that nothing enrols before the settings are known.
        var mode = Mode.needed
        var list: RevocationList?
        var figures = Figures()
    }

    private let state = Locked(State())

    package init() {}

    /// The knowledge of withdrawn certificates at an enrolment at `now`.
    package func revocations(at now: MonotonicInstant) -> AndroidPlatform.Revocations {
        state.withLock { state in
            guard state.mode == .needed else { return .off }
            guard let list = state.list, state.figures.isInForce(at: now) else { return .missing }
            return .list(list)
        }
    }

    /// Nil if no list is needed.
    package var figures: Figures? { state.withLock { $0.mode == .needed ? $0.figures : nil } }

    // MARK: the control thread's

    /// The list, however old it is.
    var list: RevocationList? { state.withLock { $0.list } }

    func need(ageMax: Duration) {
        state.withLock { state in
            state.mode = .needed
            state.figures.ageMax = ageMax
        }
    }

    func needNone() { state.withLock { $0.mode = .off } }

    /// Takes a list that is `age` old now. `isFetched`: false for one that an earlier gateway has
    /// fetched.
    func take(
        _ list: RevocationList, age: Duration, at now: MonotonicInstant, isFetched: Bool
    ) {
        state.withLock { state in
            state.list = list
            state.figures.entryCount = list.count
            state.figures.taken = (age, now)
            guard isFetched else { return }
            state.figures.counts[.fetched, default: 0] += 1
            state.figures.failure = nil
            state.figures.failedBy = nil
        }
    }

    func fail(_ outcome: Outcome, _ reason: String) {
        state.withLock { state in
            state.figures.counts[outcome, default: 0] += 1
            state.figures.failure = reason
            state.figures.failedBy = outcome
        }
    }

    func plan(_ dueAt: MonotonicInstant) { state.withLock { $0.figures.dueAt = dueAt } }

    func note(revoked count: Int, at now: MonotonicInstant) {
        state.withLock { state in
            state.figures.revokingFailure = nil
            guard count > 0 else { return }
            state.figures.revokedKeyCount += UInt64(count)
            state.figures.revokedAt = now
        }
    }

    func note(revokingFailure: String) {
        state.withLock { $0.figures.revokingFailure = revokingFailure }
    }
}
