import AppAttest
import Bytes
import EventLoop
import KeyStore
import Telemetry

/// Signals that gateways count together, where they share a counter store: what one sees is told
/// the others, and what they have seen is heard. Nobody waits for it.
extension Worker {
    /// Nanoseconds since 1970: windows begin at the same time on every gateway.
    var signalTime: UInt64 { UInt64(max(0, wallMilliseconds)) &* 1_000_000 }

    /// Keys of an address.
    func share(
        _ change: TallyChange, _ keyID: KeyID, from network: Bytes16, _ rule: SiteSignals.Rule,
        _ site: Site
    ) {
        let register = DistinctSketch.register(of: keyID.digest.word0)
        share(
            change, .register(index: register.index, rank: register.rank), network.array, rule, site
        ) { [hub] counts, now in
            hub.signals.mergeAddressKeys(
                counts, of: network, half: change.half, window: rule.windowNanoseconds, now: now)
        }
    }

    /// Enrolments.
    func share(
        _ change: TallyChange, _ what: SharedTally.Change, from network: Bytes16,
        _ rule: SiteSignals.Rule, _ site: Site
    ) {
        share(change, what, network.array, rule, site) { [hub] counts, now in
            hub.signals.mergeAttestations(
                counts, from: network, half: change.half, window: rule.windowNanoseconds, now: now)
        }
    }

    /// Conflicts.
    func share(
        _ change: TallyChange, _ what: SharedTally.Change, of keyID: KeyID,
        _ rule: SiteSignals.Rule, _ site: Site
    ) {
        share(change, what, keyID.digest.array, rule, site) { [hub] counts, now in
            hub.signals.mergeConflicts(
                counts, of: keyID, half: change.half, window: rule.windowNanoseconds, now: now)
        }
    }

    private func share(
        _ change: TallyChange, _ what: SharedTally.Change, _ subject: [UInt8],
        _ rule: SiteSignals.Rule, _ site: Site,
        merge: @escaping (SharedCounts, UInt64) -> (before: Int, after: Int)
    ) {
        guard change.isShared, counters.isShared else { return }
        let tally = SharedTally(
            name: site.pseudonyms.pseudonym(ofSignal: rule.signal.name, subject),
            half: Int64(change.half),
            halfMilliseconds: Int64(rule.windowNanoseconds / 2_000_000), change: what)
        counters.tally(tally) { [weak self] counts in
            guard let self, let counts else { return }
            let merged = merge(counts, signalTime)
            guard merged.before <= rule.countMax, merged.after > rule.countMax else { return }
            log.event(
                "signal_raised",
                "\(rule.signal.name): \(merged.after), as all gateways have counted together")
        }
    }
}
