package import EventLoop
package import JWT
package import Settings

/// The keys that were last fetched from an issuer.
///
/// The control thread fetches them; workers read them here, and report tokens that name an unknown
/// key. Any thread may use it.
package final class IssuerKeys: Sendable {
    /// The result of a request for keys.
    package enum Outcome: String, CaseIterable, Sendable {
        case fetched
        /// There was no answer, or an incomplete one.
        case failed
        /// The answer had another status than 200, such as that of a redirect.
        case refused
        /// The answer was no document of usable keys.
        case malformed
    }

    package struct Figures: Sendable {
        package fileprivate(set) var counts: [Outcome: UInt64] = [:]
        package fileprivate(set) var keyCount = 0
        /// The time at which the keys end if they are not fetched again; nil if there are none.
        fileprivate(set) var staleAt: MonotonicInstant?
        /// The time at which the issuer is asked again, if no token names an unknown key before;
        /// past while it is being asked. Nil before the first question.
        package fileprivate(set) var dueAt: MonotonicInstant?
        /// The reason why they could not be fetched the last time; nil if they could.
        package fileprivate(set) var failure: String?
        /// The result of that request; nil likewise.
        package fileprivate(set) var failedBy: Outcome?

        /// The time since the keys were fetched; nil if there are none. The machine may have been
        /// restarted since.
        package func age(at now: MonotonicInstant) -> Duration? {
            staleAt.map { IssuerKeys.staleMax - ($0 - now) }
        }
    }

    private struct State {
        var keys: JSONWebKeySet?
        var figures = Figures()
        var areMissed = false
    }

    private let state = Locked(State())

    package init() {}

    /// The keys; nil before they were fetched, and once they are too old.
    package var current: JSONWebKeySet? { state.withLock { $0.keys } }

    package var figures: Figures { state.withLock { $0.figures } }

    /// Notes that a token names a key that is not among them.
    package func miss() { state.withLock { $0.areMissed = true } }

    // MARK: the control thread's

    /// True if a token has named an unknown key since the last call.
    func takeMiss() -> Bool {
        state.withLock { state in
            defer { state.areMissed = false }
            return state.areMissed
        }
    }

    /// Takes new keys. `count`: the number of them that are for the agreed algorithms.
    func take(_ keys: JSONWebKeySet, count: Int, at now: MonotonicInstant) {
        state.withLock { state in
            state.keys = keys
            state.figures.counts[.fetched, default: 0] += 1
            state.figures.keyCount = count
            state.figures.staleAt = now + Self.staleMax
            state.figures.failure = nil
            state.figures.failedBy = nil
        }
    }

    /// Takes keys that were fetched from another place of the same issuer, for as long as they
    /// would have counted there, or until an answer from this place comes.
    func inherit(from other: IssuerKeys) {
        let (keys, figures) = other.state.withLock { ($0.keys, $0.figures) }
        guard let keys, let staleAt = figures.staleAt else { return }
        hold(keys, count: figures.keyCount, until: staleAt)
    }

    /// Takes keys that were fetched earlier until `staleAt`, if there are no newer ones.
    func hold(_ keys: JSONWebKeySet, count: Int, until staleAt: MonotonicInstant) {
        state.withLock { state in
            guard state.keys == nil else { return }
            state.keys = keys
            state.figures.keyCount = count
            state.figures.staleAt = staleAt
        }
    }

    func plan(_ dueAt: MonotonicInstant) { state.withLock { $0.figures.dueAt = dueAt } }

    func fail(_ outcome: Outcome, _ reason: String) {
        state.withLock { state in
            state.figures.counts[outcome, default: 0] += 1
            state.figures.failure = reason
            state.figures.failedBy = outcome
        }
    }

    /// Forgets the keys, because they are too old to be used.
    func forget() {
        state.withLock { state in
            state.keys = nil
            state.figures.keyCount = 0
            state.figures.staleAt = nil
        }
    }

    /// The time for which keys count that cannot be renewed: longer than most failures, and no
    /// longer than a stolen key that the issuer withdrew should do harm.
    static let staleMax = Duration.seconds(24 * 3600)
}

/// The keys of all issuers whose keys are fetched. They outlive reloads.
package final class IssuerKeyRegister: Sendable {
    package struct Place: Hashable, Sendable {
        let name: String
        /// Nil if tokens of any issuer are accepted.
        let issuer: String?
        package let url: String

        init(name: String, issuer: String?, url: String) {
            (self.name, self.issuer, self.url) = (name, issuer, url)
        }

        /// Nil for keys that are not fetched.
        package init?(_ proof: ProofSettings) {
            guard let url = proof.url else { return nil }
            (name, issuer, self.url) = (proof.name, proof.issuer, url)
        }

        /// True if keys that were fetched from one place are those of the other's issuer.
        func isOfSameIssuer(as other: Place) -> Bool {
            name == other.name && issuer != nil && issuer == other.issuer
        }
    }

    private let byPlace = Locked<[Place: IssuerKeys]>([:])

    package init() {}

    package func keys(of place: Place) -> IssuerKeys {
        byPlace.withLock { byPlace in
            if let known = byPlace[place] { return known }
            let fresh = IssuerKeys()
            byPlace[place] = fresh
            return fresh
        }
    }

    /// Forgets the keys of places that no configuration names any more.
    func keep(_ places: Set<Place>) {
        byPlace.withLock { byPlace in byPlace = byPlace.filter { places.contains($0.key) } }
    }
}
