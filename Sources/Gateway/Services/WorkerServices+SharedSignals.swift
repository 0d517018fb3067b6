import Attestation
import EventLoop
import Judgement
import KeyStore

/// Signals that gateways with one counter store count together: each tells the others what it has
/// seen, and hears what they have seen. No request waits for it.
extension WorkerServices {
    /// The time for windows, in nanoseconds since 1970: they begin together on every gateway.
    var signalTime: UInt64 { UInt64(max(0, wallMilliseconds)) &* 1_000_000 }

    /// Counts `event` for `subject`, here and together with the other gateways. `holder`: the name
    /// of a subject other than a key in the event log.
    func count(
        _ event: SignalEvent, of subject: SignalSubject, _ rule: SiteSignals.Rule, _ site: Site,
        holder: String? = nil
    ) -> TallyChange {
        let change = hub.signals.count(
            event, of: subject, for: rule.signal, window: rule.windowNanoseconds, now: signalTime)
        guard change.isShared, counters.isShared else { return change }
        share(change.half, event, of: subject, rule, site, holder: holder)
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
        _ rule: SiteSignals.Rule, _ site: Site, holder: String? = nil
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
            let name = holder ?? site.logName(of: subject)
            log.event("signal_raised", rule.sharedText(merged.after, of: name))
        }
    }
}

extension Site {
    /// The name of a subject that is a key; nil for others.
    fileprivate func logName(of subject: SignalSubject) -> String? {
        if case .key(let keyID) = subject { logName(of: keyID) } else { nil }
    }
}
