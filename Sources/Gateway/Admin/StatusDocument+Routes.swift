import Administration
import Attestation
import Background
import EventLoop
import JSON
import Judgement
import KeyStore
import Policy
import Settings

// Counts since the start, grouped by their subject.
extension StatusDocument {
    func writeRoutes(_ writer: inout JSONWriter) {
        let meters = MetricsPage.meters(hub)
        let configured = Dictionary(
            site.settings.routes.map { ($0.name, $0.attest.mode) }, uniquingKeysWith: { $1 })
        writer.beginArray("routes")
        for (name, meters) in meters {
            writer.beginObject()
            writer.member("name", string: name)
            writer.member("kind", constant: Self.kind(of: name, configured[name] != nil))
            if let mode = configured[name] { writer.member("mode", string: mode.rawValue) }
            writer.member(
                "requests",
                unsigned: meters.reduce(0) { sum, meter in
                    sum &+ (0..<10).reduce(0) { $0 &+ meter.count(statusClass: $1) }
                })
            writer.member(
                "would_be_refused", unsigned: meters.reduce(0) { $0 &+ $1.wouldBeRefusedCount })
            writeOutcomes(meters, &writer)
            writer.beginObject("buckets")
            for bucket in RequestBucket.allCases {
                let count = meters.reduce(0) {
                    $0 &+ $1.count(bucket, .enforced) &+ $1.count(bucket, .observed)
                }
                if count > 0 { writer.member(bucket.name, unsigned: count) }
            }
            writer.endObject()
            writer.endObject()
        }
        writer.endArray()
    }

    private static func kind(of name: String, _ isConfigured: Bool) -> StaticString {
        if isConfigured { return "route" }
        if name == "none" { return "none" }
        return AppEndpoint.allCases.contains { $0.routeName == name } ? "endpoint" : "former"
    }

    private func writeOutcomes(_ meters: [RouteMeter], _ writer: inout JSONWriter) {
        writer.beginArray("outcomes")
        for decision in Decision.allCases {
            for reason in Reason.allCases {
                let count = meters.reduce(0) { $0 &+ $1.count(decision, reason) }
                guard count > 0 else { continue }
                writer.beginObject()
                writer.member("decision", constant: decision.name)
                writer.member("reason", constant: reason.code)
                writer.member("count", unsigned: count)
                writer.endObject()
            }
        }
        writer.endArray()
    }

    func writeApps(_ writer: inout JSONWriter) {
        writer.beginArray("apps")
        let ids = hub.meters.reduce(into: Set<String>()) { $0.formUnion($1.appIDs) }
        for id in ids.sorted() {
            var counts = AppCounts()
            for meter in hub.meters { meter.addCounts(of: id, to: &counts) }
            writer.beginObject()
            writer.member("app", string: id)
            writer.member("platform", string: counts.platform.text)
            writer.beginArray("versions")
            for row in hub.namedVersions.history.rows(of: id, counts) {
                guard row.counts.contains(where: { $0 > 0 }) else { continue }
                writer.beginObject()
                writer.member("version", string: row.version)
                writer.beginObject("buckets")
                for bucket in RequestBucket.allCases {
                    let count = row.counts[Int(bucket.rawValue)]
                    if count > 0 { writer.member(bucket.name, unsigned: count) }
                }
                writer.endObject()
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
    }

    func writeKeys(_ writer: inout JSONWriter) {
        let tally = hub.keyTally.withLock { $0 }
        if let tally {
            writer.member(
                "keys_counted_at", string: WallClock.timestamp(seconds: tally.countedAt))
        } else {
            writer.null("keys_counted_at")
        }
        writer.beginArray("keys")
        for keys in tally?.counts ?? [] {
            writer.beginObject()
            writer.member("app", string: keys.appID)
            writer.member("platform", string: site.platform(ofApp: keys.appID))
            writer.member("environment", string: keys.environment.rawValue)
            writer.member("status", string: keys.status.rawValue)
            writer.member("count", int: Int64(keys.count))
            writer.endObject()
        }
        writer.endArray()
    }

    func writeRollouts(_ writer: inout JSONWriter) {
        writer.beginArray("rollouts")
        for rollout in RolloutFigures.all(site) {
            writer.beginObject()
            writer.member("name", string: rollout.name)
            if let percent = rollout.percent {
                writer.member("percent", int: Int64(percent))
            } else {
                writer.null("percent")
            }
            writer.member(
                "status",
                string: rollout.state?.status.rawValue
                    ?? (rollout.isByPlan ? "unknown" : "configured"))
            if let state = rollout.state {
                writer.member("change", string: state.changeText)
                writer.member(
                    "changed", string: WallClock.timestamp(seconds: state.changedAt / 1000))
            }
            writer.endObject()
        }
        writer.endArray()
    }

    func writeQuotas(_ writer: inout JSONWriter) {
        writer.beginArray("quotas")
        for figures in QuotaFigures.all(self) {
            writer.beginObject()
            QuotaLine.write(figures.quota, to: &writer)
            Self.write(&writer) { figures.sinceStart($0) }
            writer.beginObject("last_hour")
            Self.write(&writer) { figures.lastHour($0) }
            writer.endObject()
            writer.endObject()
        }
        writer.endArray()
    }

    private static func write(
        _ writer: inout JSONWriter, _ count: (StatusHistory.QuotaColumn) -> UInt64
    ) {
        writer.member("charged", unsigned: count(.charged))
        writer.member("refused", unsigned: count(.exhausted))
        writer.member("numbers_missing", unsigned: count(.missing))
        writer.member("uncounted", unsigned: count(.unavailable))
    }
}
