import EventLoop
import Telemetry

/// How long one worker takes to check signatures. Its thread writes, and any thread may read.
///
/// Every second check is timed, so that timing costs one reading of the clock a check.
final class SignatureTimes: @unchecked Sendable {
    static let bounds = HistogramBounds.stepDuration

    let histogram = Histogram(SignatureTimes.bounds)
    /// The worker's own thread only.
    private var isTimed = false

    /// The time now, by the clock rather than the loop's, which stands still in a turn; nil if this
    /// check is not timed.
    func begin() -> MonotonicInstant? {
        isTimed.toggle()
        return isTimed ? MonotonicInstant.now() : nil
    }

    /// `checkCount`: how many signatures were checked together; each took its part of the time.
    func end(_ startedAt: MonotonicInstant?, checkCount: Int) {
        guard let startedAt else { return }
        let nanoseconds = MonotonicInstant.now().nanoseconds(since: startedAt)
        for _ in 0..<checkCount {
            histogram.record(nanoseconds: nanoseconds / UInt64(checkCount))
        }
    }
}
