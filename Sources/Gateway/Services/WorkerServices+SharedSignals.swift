import Attestation
import EventLoop
import Judgement
import KeyStore

/// Signals that gateways with one counter store count together: each tells the others what it has
/// seen, and hears what they have seen. No request waits for it.
extension WorkerServices {
    /// The time for windows, in nanoseconds since 1970: they begin together on every gateway.
    var signalTime: UInt64 { UInt64(max(0, wallMilliseconds)) &* 1_000_000 }

    /// Counts `event` for `subject`, here and together with the other gateways.
    func count(
        _ event: SignalEvent, of subject: SignalSubject, _ rule: SiteSignals.Rule, _ site: Site
    ) -> TallyChange {
        let change = hub.signals.count(
            event, of: subject, for: rule.signal, window: rule.windowNanoseconds, now: signalTime)
        if change.isShared, counters.isShared { share(change.half, event, of: subject, rule, site) }
        return change
    }

    /// Counts an accepted counter. If other gateways accept some counters of the key, only all
    /// together can tell which are missing. Nil if their answer will come.
    func count(
        accepted counter: UInt32, of keyID: KeyID, _ rule: SiteSignals.Rule, _ site: Site
    ) -> TallyChange? {
        let subject = SignalSubject.key(keyID)
        guard counters.isShared else {
            return hub.signals.count(
                .counter(counter), of: subject, for: rule.signal, window: rule.windowNanoseconds,
                now: signalTime)
        }
        let half = WindowTally<CounterTally>.half(
            at: signalTime, windowNanoseconds: rule.windowNanoseconds)
        share(half, .counter(counter), of: subject, rule, site)
        return nil
    }

    private func share(
        _ half: UInt64, _ event: SignalEvent, of subject: SignalSubject,
        _ rule: SiteSignals.Rule, _ site: Site
    ) {
        let tally = SharedTally(
            name: site.pseudonyms.pseudonym(ofSignal: rule.signal.name, subject.bytes),
            half: Int64(half),
            halfMilliseconds: Int64(rule.windowNanoseconds / 2_000_000), change: event.shared)
        counters.tally(tally) { [weak self] counts in
            guard let self, let counts else { return }
            let merged = hub.signals.merge(
                counts, of: subject, for: rule.signal, half: half,
                window: rule.windowNanoseconds, now: signalTime)
            guard merged.before <= rule.countMax, merged.after > rule.countMax else { return }
            var holder = ""
            if case .key(let keyID) = subject { holder = "\(site.logName(of: keyID)) has " }
            log.event(
                "signal_raised",
                "\(rule.name): \(holder)\(merged.after), counted by all gateways together")
        }
    }
}
