import Settings

/// Which requests get spans.
struct SiteTracing: Sendable {
    let samplePercent: UInt64
    /// The time until a worker has another span to give away, and for how long it may save them.
    let interval: UInt64
    let depth: UInt64

    /// Nil if none gets any.
    init?(_ settings: Settings) {
        guard let otlp = settings.otlp, let percent = otlp.samplePercent else { return nil }
        samplePercent = UInt64(max(0, percent))
        // Each worker has its part of the limit.
        interval = otlp.spanLimit.spacingNanoseconds * UInt64(max(1, settings.workerCount))
        depth = max(interval, 1_000_000_000)
    }
}
