package import EventLoop
import HTTPSClient
package import OTLP
package import Settings
package import Telemetry

/// Exports spans and metrics to an OpenTelemetry collector, by OTLP over HTTP. It belongs to the
/// control thread; nothing in it blocks.
package final class OTLPExporter {
    /// The process that metrics and spans are attributed to.
    package struct Origin {
        let resource: OTLPResource
        let version: String
        /// The time at which the counters began, in nanoseconds since 1970.
        let startedAt: UInt64

        package init(resource: OTLPResource, version: String, startedAt: UInt64) {
            self.resource = resource
            self.version = version
            self.startedAt = startedAt
        }
    }

    /// Spans that are sent until they have arrived or are too old.
    private struct HeldSpans {
        let body: [UInt8]
        let spanCount: Int
        let takenAt: MonotonicInstant
    }

    private let loop: EventLoop
    private let origin: Origin
    private let queue: SpanQueue
    private let meter: ExportMeter
    private let collect: () -> MetricFamilies
    private let traces: ExportChannel
    private let metrics: ExportChannel
    private var settings: OTLPSettings?
    private var target: ExportTarget?
    private var spanTimer: Timer?
    private var metricsTimer: Timer?
    private var held: HeldSpans?
    private var spansPausedUntil = MonotonicInstant(nanoseconds: 0)
    private var ending = Ending()

    /// The progress of the last exports.
    private struct Ending {
        /// Called when they are over; nil before the end has begun.
        var whenOver: (() -> Void)?
        var timer: Timer?
        /// True if the last export of metrics has not begun.
        var owesMetrics = false
    }

    /// `collect` returns the metrics of this moment.
    package init(
        loop: EventLoop, queue: SpanQueue, meter: ExportMeter, log: any EventLog, _ origin: Origin,
        collect: @escaping () -> MetricFamilies
    ) {
        self.loop = loop
        self.queue = queue
        self.meter = meter
        self.origin = origin
        self.collect = collect
        traces = ExportChannel(.traces, loop: loop, meter: meter, log: log)
        metrics = ExportChannel(.metrics, loop: loop, meter: meter, log: log)
        spanTimer = Timer(loop: loop) { [unowned self] in sendSpans() }
        metricsTimer = Timer(loop: loop) { [unowned self] in sendMetrics() }
    }

    // MARK: settings

    /// The effect of another configuration, once that is in use.
    package struct Change {
        fileprivate let settings: OTLPSettings?
        fileprivate let target: ExportTarget?
    }

    /// Prepares another configuration. To be called at the start and at each reload, before any
    /// part of it is in force; nil if nothing changes.
    package func change(to next: OTLPSettings?) throws(ConfigurationFailure) -> Change? {
        guard next != settings else { return nil }
        do throws(HTTPSClientError) {
            let target = try next.map { settings throws(HTTPSClientError) in
                try ExportTarget(settings, loop: loop)
            }
            return Change(settings: next, target: target)
        } catch {
            throw ConfigurationFailure("otlp: \(error)")
        }
    }

    package func use(_ change: Change?) {
        guard let change, ending.whenOver == nil else { return }
        // Exports under way are sent to the new collector, or dropped.
        target?.client.close()
        traces.forget()
        metrics.forget()
        settings = change.settings
        target = change.target
        spansPausedUntil = loop.now
        spanTimer?.cancel()
        metricsTimer?.cancel()
        if change.settings?.samplePercent == nil {
            dropHeld(.undelivered)
            queue.close()
        } else {
            queue.open()
            spanTimer?.scheduleRepeating(every: Self.spanInterval)
        }
        guard let settings else { return }
        meter.turnedOn()
        if settings.metricsInterval > .zero {
            metricsTimer?.schedule(after: settings.metricsInterval)
        }
    }

    // MARK: spans

    private func sendSpans() {
        guard let target, !traces.isBusy, spansPausedUntil <= loop.now else { return }
        if held == nil { held = takeSpans() }
        guard let held else { return }
        traces.send(held.body, by: target) { [weak self] in self?.spansEnded($0) }
    }

    private func takeSpans() -> HeldSpans? {
        let batches = queue.take()
        guard !batches.isEmpty else { return nil }
        return HeldSpans(
            body: OTLPSpans.encode(batches, of: origin.resource, version: origin.version),
            spanCount: batches.reduce(0) { $0 + $1.spanCount }, takenAt: loop.now)
    }

    private func spansEnded(_ result: ExportResult) {
        switch result {
        case .accepted:
            held = nil
            // At the collector's pace.
            sendSpans()
        case .refused:
            dropHeld(.refused)
        case .later(_, let asked, _):
            if let held, loop.now - held.takenAt >= Self.spanPatience { dropHeld(.undelivered) }
            spansPausedUntil = loop.now + traces.pause(after: asked, jitter: loop.jitter)
            if ending.whenOver != nil { dropHeld(.undelivered) }
        }
        endIfOver()
    }

    private func dropHeld(_ loss: ExportMeter.Loss) {
        meter.drop(held?.spanCount ?? 0, loss)
        held = nil
    }

    // MARK: metrics

    private func sendMetrics() {
        guard let target, let settings, settings.metricsInterval > .zero, !metrics.isBusy else {
            return
        }
        ending.owesMetrics = false
        let now = WallClock.now()
        let body = OTLPMetrics.encode(
            collect(), of: origin.resource, version: origin.version, startedAt: origin.startedAt,
            at: UInt64(max(0, now.seconds)) * 1_000_000_000 + UInt64(now.nanoseconds))
        metrics.send(body, by: target) { [weak self] in
            self?.metricsEnded($0, interval: settings.metricsInterval)
        }
    }

    /// Ends an export. Metrics that were not taken are not sent again, because the next export has
    /// all of them.
    private func metricsEnded(_ result: ExportResult, interval: Duration) {
        guard ending.whenOver == nil else {
            if ending.owesMetrics, case .accepted = result { sendMetrics() }
            return endIfOver()
        }
        var wait = interval
        if case .later(_, let asked, _) = result {
            let pause = metrics.pause(after: asked, jitter: loop.jitter)
            wait = asked == nil ? min(interval, pause) : pause
        }
        metricsTimer?.schedule(after: wait)
    }

    // MARK: the end

    /// Sends what is queued without waiting for answers: for a process that becomes another
    /// program.
    package func flush() {
        sendSpans()
        sendMetrics()
    }

    /// Sends everything that is queued, for some seconds at most, and then calls `whenOver`.
    package func finish(_ whenOver: @escaping () -> Void) {
        guard target != nil, ending.whenOver == nil else { return whenOver() }
        ending.whenOver = whenOver
        ending.owesMetrics = (settings?.metricsInterval ?? .zero) > .zero
        spanTimer?.cancel()
        metricsTimer?.cancel()
        let timer = Timer(loop: loop) { [unowned self] in end() }
        timer.schedule(after: Self.finishPatience)
        ending.timer = timer
        spansPausedUntil = loop.now
        sendSpans()
        sendMetrics()
        endIfOver()
    }

    private func endIfOver() {
        guard ending.whenOver != nil, !traces.isBusy, !metrics.isBusy else { return }
        end()
    }

    private func end() {
        guard let whenOver = ending.whenOver else { return }
        ending = Ending()
        close()
        whenOver()
    }

    /// Cancels all exports that are under way.
    package func close() {
        target?.client.close()
        target = nil
        settings = nil
        spanTimer = nil
        metricsTimer = nil
        dropHeld(.undelivered)
        queue.close()
    }

    /// Often enough for a person who watches a trace, and rare enough for a collector.
    private static let spanInterval = Duration.seconds(1)
    /// The time for which spans are kept for a collector that does not take them.
    private static let spanPatience = Duration.seconds(120)
    /// The time for which a stop waits for the last exports.
    private static let finishPatience = Duration.seconds(5)
}
