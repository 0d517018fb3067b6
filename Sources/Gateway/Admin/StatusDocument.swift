import Attestation
import Background
import Bytes
import EventLoop
import JSON
import Judgement
import KeyStore
import Policy
import Settings
import TLS

/// `/status.json`: everything that the status page shows, for programs.
///
/// `format` is raised when a member is removed or gets another meaning; members may be added.
struct StatusDocument {
    static let format: Int64 = 1

    let hub: Hub
    let site: Site
    let instant: MonotonicInstant
    let wall: (seconds: Int64, nanoseconds: Int32)
    let history: StatusHistory
    let verdict: StatusVerdict

    /// Makes the document, after bringing the history up to date.
    init(_ hub: Hub, site: Site) {
        (self.hub, self.site) = (hub, site)
        instant = MonotonicInstant.now()
        wall = WallClock.now()
        StatusSampler.sample(hub, at: instant)
        let history = hub.history.withLock { $0 }
        self.history = history
        verdict = StatusVerdict(
            StatusInspection(hub: hub, site: site, now: wall.seconds, history: history).problems)
    }

    /// The document as JSON. `range`: the range of the history, which is left out if it is nil.
    func json(_ range: HistoryRange?) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("format", int: Self.format)
        writer.member("time", string: WallClock.timestamp(seconds: wall.seconds))
        writer.member("time_ms", int: WallClock.milliseconds(of: wall))
        write(verdict, &writer)
        writeGateway(&writer)
        writeReload(&writer)
        writeStores(&writer)
        writeRoutes(&writer)
        writeApps(&writer)
        writeProofs(&writer)
        writeKeys(&writer)
        writeUpstreams(&writer)
        writeRollouts(&writer)
        writeQuotas(&writer)
        writeCertificates(&writer)
        writeReceipts(&writer)
        writeEvents(&writer)
        if let range { writeHistory(range, &writer) }
        writer.endObject()
        return writer.finish().readable.array
    }

    private func write(_ verdict: StatusVerdict, _ writer: inout JSONWriter) {
        writer.member("level", constant: verdict.level.name)
        writer.member("sentence", string: verdict.sentence)
        writer.beginArray("problems")
        for problem in verdict.problems {
            writer.beginObject()
            writer.member("level", constant: problem.level.name)
            writer.member("name", string: problem.name.rawValue)
            writer.member("text", string: problem.text)
            writer.member("remedy", string: problem.remedy)
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeGateway(_ writer: inout JSONWriter) {
        writer.beginObject("gateway")
        writer.member("version", string: hub.version)
        writer.member("openssl", string: TLSLibrary.version)
        writer.member("generation", int: Int64(site.generation))
        writer.member("workers", int: Int64(hub.workerMeters.count))
        writer.member("draining", bool: hub.health.isDraining)
        writer.member(
            "connections", int: hub.workerMeters.reduce(0) { $0 + $1.connectionCount })
        writer.member("tunnels", int: hub.workerMeters.reduce(0) { $0 + $1.tunnelCount })
        if let usage = ProcessUsage.read() {
            let startedAt = Int64(usage.startedAtNanoseconds / 1_000_000_000)
            writer.member("started", string: WallClock.timestamp(seconds: startedAt))
            writer.member("uptime_s", int: max(0, wall.seconds - startedAt))
            writer.member("memory_bytes", unsigned: usage.residentByteCount)
            writer.member("cpu_s", double: Double(usage.processorNanoseconds / 1_000_000) / 1000)
        }
        if let count = ProcessUsage.descriptorCount {
            writer.member("descriptors", int: Int64(count))
        }
        writer.member("descriptors_max", int: Int64(hub.descriptors.limit))
        writer.member("log_lines_lost", unsigned: StatusSampler.linesLost(hub))
        writer.endObject()
    }

    private func writeReload(_ writer: inout JSONWriter) {
        writer.beginObject("reload")
        writer.member("taken", string: WallClock.timestamp(seconds: hub.reloads.takenAt))
        if let failure = hub.reloads.failure {
            writer.member("failure", string: failure.description)
        } else {
            writer.null("failure")
        }
        writer.endObject()
    }

    private func writeStores(_ writer: inout JSONWriter) {
        writer.beginArray("stores")
        for (name, isUp) in [
            ("registry", hub.health.isRegistryReady), ("counters", hub.health.areCountersReady),
        ] {
            writer.beginObject()
            writer.member("name", string: name)
            writer.member("up", bool: isUp)
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeEvents(_ writer: inout JSONWriter) {
        writer.beginArray("events")
        for (name, count) in hub.logs.eventCounts.sorted(by: { $0.key < $1.key }) {
            writer.beginObject()
            writer.member("event", string: name)
            writer.member("count", unsigned: count)
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeUpstreams(_ writer: inout JSONWriter) {
        let servers = ServerFigures.all(hub)
        writer.beginArray("upstreams")
        for group in hub.currentGroups {
            writer.beginObject()
            writer.member("name", string: group.settings.name)
            writer.beginArray("servers")
            for server in servers where server.label.upstream == group.settings.name {
                writer.beginObject()
                writer.member("server", string: server.label.server)
                writer.member("state", string: server.state)
                writer.member("requests", unsigned: server.requestCount)
                writer.member("failures", unsigned: server.failureCount)
                writer.member("connections", int: server.connectionCount)
                writer.member("checked", bool: server.isChecked)
                if let time = history.servers.askedAt(server.remembered) {
                    writer.member("asked", string: WallClock.timestamp(seconds: time))
                }
                writer.member(
                    "unasked", bool: server.unasked(history, at: wall.seconds) != nil)
                writer.endObject()
            }
            writer.endArray()
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeCertificates(_ writer: inout JSONWriter) {
        writer.beginArray("certificates")
        for certificate in ListenerCertificate.all(site) {
            let left = certificate.notAfter - wall.seconds
            writer.beginObject()
            writer.member("listener", string: certificate.listener)
            writer.member("name", string: certificate.name)
            writer.member("not_after", string: WallClock.timestamp(seconds: certificate.notAfter))
            writer.member("days_left", int: left >= 0 ? left / 86_400 : -1)
            writer.member("ending", bool: certificate.isEnding(at: wall.seconds))
            writer.endObject()
        }
        writer.endArray()
    }

    private func writeReceipts(_ writer: inout JSONWriter) {
        let meter = hub.renewalMeter
        writer.beginObject("receipts")
        writer.member("renewed", bool: meter.isOn)
        writer.member("by_this_gateway", bool: meter.holdsLease)
        if meter.holdsLease {
            writer.member("due", int: meter.dueCount)
            writer.member("overdue_s", int: meter.overdueSeconds(at: wall.seconds))
            if let pause = meter.pause { writer.member("paused", string: pause.rawValue) }
        }
        writer.endObject()
    }
}
