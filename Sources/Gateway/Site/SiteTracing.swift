import Settings

/// The rule for the requests that get spans.
struct SiteTracing: Sendable {
    let samplePercent: UInt64
    /// The time after which a worker may give out another span, and for which it may save them.
    let interval: UInt64
    let depth: UInt64

    /// Nil if no request gets any.
    init?(_ settings: Settings) {
        guard let otlp = settings.otlp, let percent = otlp.samplePercent else { return nil }
        samplePercent = UInt64(max(0, percent))
        // Each worker has its share of the limit.
        interval = otlp.spanLimit.spacingNanoseconds * UInt64(max(1, settings.workerCount))
        depth = max(interval, 1_000_000_000)
    }
}
