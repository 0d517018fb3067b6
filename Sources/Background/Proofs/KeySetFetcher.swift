package import EventLoop
import HTTPSClient
import JWT
package import Settings

/// Fetches the keys of issuers, again and again, so that no request waits for them. It belongs to
/// the control thread; nothing in it blocks.
package final class KeySetFetcher {
    /// One issuer, and the place of its keys.
    fileprivate final class Source {
        var settings: ProofSettings
        let place: IssuerKeyRegister.Place
        let keys: IssuerKeys
        let client: any KeySetClient
        var isBusy = false
        /// True if the question under way was asked before a reload, which asks anew.
        var isOutdated = false
        var failureCount = 0
        /// The time at which they are asked for next, whatever tokens name.
        var due: MonotonicInstant { didSet { keys.plan(due) } }
        var askedAt: MonotonicInstant?

        init(
            _ settings: ProofSettings, _ place: IssuerKeyRegister.Place, _ keys: IssuerKeys,
            _ client: any KeySetClient, due: MonotonicInstant
        ) {
            self.settings = settings
            self.place = place
            self.keys = keys
            self.client = client
            self.due = due
        }
    }

    private let loop: EventLoop
    private let register: IssuerKeyRegister
    private let log: any EventLog
    private let makeClient: KeySetClientMaker
    private let folder: KeySetFolder?
    private let keeper: FileKeeper
    private var sources: [Source] = []
    private var timer: Timer?

    /// `folder`: the place where the keys outlive the gateway; nil if they do not.
    package init(
        loop: EventLoop, register: IssuerKeyRegister, log: any EventLog,
        folder: KeySetFolder? = nil,
        client makeClient: @escaping KeySetClientMaker = makeKeySetClient
    ) {
        self.makeClient = makeClient
        self.loop = loop
        self.register = register
        self.log = log
        self.folder = folder
        keeper = FileKeeper(threadName: "jwks", loop: loop) { failure in
            if let failure {
                log.event(
                    level: "warning", "jwks_unkept",
                    "\(failure); after a restart the issuers have to be asked for their keys first")
            } else {
                log.event(
                    level: "info", "jwks_kept", "the files of issuers' keys are written again")
            }
        }
        timer = Timer(loop: loop) { [unowned self] in tend() }
    }

    // MARK: settings

    /// The effect of another configuration, once that is in use.
    package struct Change {
        fileprivate let sources: [(source: Source, settings: ProofSettings)]
    }

    /// Prepares another configuration. To be called at the start and at each reload, before any
    /// part of it is in force. Fetched keys, and connections, outlive a reload that does not
    /// concern them; but each issuer is asked again at once, for operators who know that a key was
    /// withdrawn.
    package func change(to proofs: [ProofSettings]) throws(ConfigurationFailure) -> Change {
        var next: [(source: Source, settings: ProofSettings)] = []
        for proof in proofs {
            guard let place = IssuerKeyRegister.Place(proof) else { continue }
            if let known = sources.first(where: {
                $0.place == place && $0.settings.configuration == proof.configuration
            }) {
                next.append((known, proof))
                continue
            }
            do throws(HTTPSClientError) {
                let source = Source(
                    proof, place, register.keys(of: place),
                    try makeClient(loop, proof.configuration), due: loop.now)
                next.append((source, proof))
            } catch {
                throw ConfigurationFailure("proofs.\(proof.name): \(error)")
            }
        }
        return Change(sources: next)
    }

    /// Loads the keys that an earlier gateway has fetched, if they are not too old, so that
    /// requests need not wait for the issuers. Blocks; to be called once, before ``use(_:)``.
    package func restore(_ change: Change) {
        guard let folder else { return }
        for (source, _) in change.sources {
            do throws(DigestedFileError) {
                guard let kept = try folder.read(source.place) else { continue }
                try restore(kept, to: source)
            } catch {
                log.event(
                    level: "warning", "jwks_unread", "proofs.\(source.settings.name): \(error)")
            }
        }
    }

    private func restore(_ kept: KeptKeySet, to source: Source) throws(DigestedFileError) {
        let age = Duration.milliseconds(loop.wallMilliseconds - kept.fetchedAtMilliseconds)
        guard age >= .zero else {
            // The age of these keys is not known.
            throw DigestedFileError("its keys were fetched later than the clock shows")
        }
        let tally = kept.keys.tally(for: Set(source.settings.algorithms))
        guard age < IssuerKeys.staleMax, tally.usedCount > 0 else { return }
        source.keys.hold(
            kept.keys, count: tally.usedCount, until: loop.now + (IssuerKeys.staleMax - age))
    }

    package func use(_ change: Change) {
        for source in sources where !change.sources.contains(where: { $0.source === source }) {
            source.client.close()
        }
        // An issuer that moves its keys has the same keys; tokens of another one wait for its own.
        for (source, _) in change.sources {
            guard let former = sources.first(where: { $0.place.isOfSameIssuer(as: source.place) })
            else { continue }
            source.keys.inherit(from: former.keys)
        }
        sources = change.sources.map(\.source)
        for (source, settings) in change.sources {
            source.settings = settings
            source.due = loop.now
            source.isOutdated = source.isBusy
        }
        register.keep(Set(sources.map(\.place)))
        guard !sources.isEmpty else {
            timer?.cancel()
            return
        }
        tend()
        timer?.scheduleRepeating(every: Self.interval)
    }

    /// Cancels all requests that are under way.
    package func close() {
        timer = nil
        for source in sources { source.client.close() }
        sources = []
    }

    // MARK: fetching

    private func tend() {
        let now = loop.now
        for source in sources {
            forgetOld(source, now)
            guard !source.isBusy, isDue(source, now) else { continue }
            ask(source, now)
        }
    }

    /// True if the issuer is to be asked. Strangers may name any number of unknown keys: that
    /// brings the next question forward, but never closer than a while after the last one.
    private func isDue(_ source: Source, _ now: MonotonicInstant) -> Bool {
        if source.due <= now { return true }
        guard let askedAt = source.askedAt, askedAt + Self.pauseMin <= now else { return false }
        return source.failureCount == 0 && source.keys.takeMiss()
    }

    private func forgetOld(_ source: Source, _ now: MonotonicInstant) {
        guard let staleAt = source.keys.figures.staleAt, staleAt <= now else { return }
        source.keys.forget()
        log.event(
            level: "error", "jwks_expired",
            "proofs.\(source.settings.name): no keys could be fetched for \(Self.staleMaxText), "
                + "and its tokens are not accepted any more")
    }

    private func ask(_ source: Source, _ now: MonotonicInstant) {
        source.isBusy = true
        source.askedAt = now
        _ = source.keys.takeMiss()
        source.client.ask(.document(at: source.place.url)) { [weak self, weak source] in
            guard let self, let source else { return }
            source.isBusy = false
            if case .failure(.closed) = $0 { return }
            take(KeySetAnswer($0, for: Set(source.settings.algorithms)), for: source)
            guard source.isOutdated else { return }
            // This answer may still have a key that was withdrawn before the reload.
            source.isOutdated = false
            source.due = loop.now
        }
    }

    private func take(_ answer: KeySetAnswer, for source: Source) {
        let now = loop.now
        switch answer {
        case .keys(let keys, let tally, let life):
            source.keys.take(keys, count: tally.usedCount, at: now)
            keep(keys, of: source.place)
            source.due = now + life
            if source.failureCount > 0 {
                log.event(
                    level: "info", "jwks_up",
                    "proofs.\(source.settings.name): keys are fetched again")
            }
            source.failureCount = 0
        case .none(let outcome, let reason):
            source.keys.fail(outcome, reason)
            source.failureCount += 1
            var backOff = BackOff()
            (backOff.shortest, backOff.longest) = (.seconds(2), .seconds(60))
            source.due =
                now + backOff.delay(failureCount: source.failureCount, jitter: loop.jitter)
            guard source.failureCount == 1 else { return }
            let rest =
                source.keys.current == nil
                ? "its tokens cannot be judged" : "the keys fetched before still count"
            log.event(
                level: "warning", "jwks_down", "proofs.\(source.settings.name): \(reason); \(rest)")
        }
    }

    private func keep(_ keys: JSONWebKeySet, of place: IssuerKeyRegister.Place) {
        guard let folder else { return }
        let kept = KeptKeySet(
            place: place, keys: keys, fetchedAtMilliseconds: loop.wallMilliseconds)
        keeper.keep(place.name) { () throws(IOError) in try folder.write(kept) }
    }

    private static let interval = Duration.seconds(1)
    /// The time between two questions because of unknown keys. Issuers publish a key hours before
    /// they sign with it, so clients have to wait only for a key that replaces one withdrawn in
    /// haste.
    private static let pauseMin = Duration.seconds(60)
    private static let staleMaxText = "24 hours"
}
