import Attestation
import Crypto
import EventLoop
import KeyStore
import Telemetry

extension MetricsPage {
    /// Writes the durations of signatures, stores and upstreams.
    static func writeDurations(_ hub: Hub, _ page: inout MetricFamilies) {
        page.family(
            "sallyport_verification_duration_seconds", .histogram,
            help: "The time that the check of an assertion took, of every second one.")
        var verifications = HistogramSnapshot(SignatureTimes.bounds)
        for meter in hub.meters { verifications.add(meter.signatures.histogram) }
        page.histogram([], verifications)
        writeBatches(hub, &page)
        page.family(
            "sallyport_store_duration_seconds", .histogram,
            help: "The time that an exchange waited for a store, by what it asked for.")
        for operation in StoreOperation.allCases {
            var snapshot = HistogramSnapshot(.storeDuration)
            for meter in hub.meters { snapshot.add(meter.duration(of: operation)) }
            guard snapshot.count > 0 else { continue }
            page.histogram([("store", operation.store), ("operation", operation.name)], snapshot)
        }
        page.family(
            "sallyport_upstream_duration_seconds", .histogram,
            help: "The time from the lease of an upstream's connection to the head of its answer.")
        let names = hub.meters.reduce(into: Set<String>()) { $0.formUnion($1.upstreams.keys) }
        for name in names.sorted() {
            var snapshot = HistogramSnapshot(.requestDuration)
            for meter in hub.meters {
                if let histogram = meter.upstreams[name] { snapshot.add(histogram) }
            }
            page.histogram([("upstream", name)], snapshot)
        }
    }

    private static func writeBatches(_ hub: Hub, _ page: inout MetricFamilies) {
        guard let library = hub.signatures.library else { return }
        page.family(
            "sallyport_signature_batches_total", .counter,
            help: "Batches of signatures by how many were in each; those of 1 are OpenSSL's.")
        for count in 1...P256BatchVerifier.laneCount {
            let batches = hub.meters.reduce(0) { $0 &+ $1.batchCount(of: count) }
            guard batches > 0 || count == 1 || count >= P256BatchVerifier.usualLaneCountMin else {
                continue
            }
            page.sample([("lanes", "\(count)")], batches)
        }
        page.family(
            "sallyport_signatures_undecided_total", .counter,
            help: "Signatures that crypto_mb could not judge, so that OpenSSL verified them.")
        page.sample([], hub.meters.reduce(0) { $0 &+ $1.value(.signaturesUndecided) })
        page.family(
            "sallyport_signature_library_trusted", .gauge,
            help: "0 once crypto_mb was wrong or of no use; absent if it was never used.")
        page.sample([], library.isTrusted ? UInt64(1) : 0)
    }

    static func writeKeys(_ hub: Hub, _ site: Site, _ page: inout MetricFamilies) {
        page.family(
            "sallyport_registry_keys", .gauge,
            help: "Keys in the registry when they were counted last; absent until then.")
        for keys in hub.keyTally.withLock({ $0 })?.counts ?? [] {
            page.sample(
                [
                    ("app", keys.appID), ("platform", site.platform(ofApp: keys.appID)),
                    ("environment", keys.environment.rawValue),
                    ("status", keys.status.rawValue),
                ], UInt64(max(0, keys.count)))
        }
    }
}
