import Settings

/// The verdict of a server's active checks: `falls` failures in a row take it down, and `rises`
/// successes in a row bring it up again.
struct HealthTally {
    private(set) var isUp = true
    private var contraryCount = 0
    private let settings: HealthCheckSettings

    init(_ settings: HealthCheckSettings) { self.settings = settings }

    /// Takes the outcome of one check. True if it changed the verdict.
    mutating func add(isPassed: Bool) -> Bool {
        guard isPassed != isUp else {
            contraryCount = 0
            return false
        }
        contraryCount += 1
        guard contraryCount >= (isUp ? settings.fallCount : settings.riseCount) else {
            return false
        }
        isUp.toggle()
        contraryCount = 0
        return true
    }
}
