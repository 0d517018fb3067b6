import EventLoop
import Telemetry

/// The time that one worker takes to check signatures. Its thread writes, and any thread may read.
///
/// Only every second check is timed, so that timing costs one reading of the clock for each check
/// on average.
final class SignatureTimes: @unchecked Sendable {
    static let bounds = HistogramBounds.stepDuration

    let histogram = Histogram(SignatureTimes.bounds)
    /// Used only by the worker's own thread.
    private var isTimed = false

    /// The time now by the clock, because the loop's time stands still during a turn; nil if this
    /// check is not timed.
    func begin() -> MonotonicInstant? {
        isTimed.toggle()
        return isTimed ? MonotonicInstant.now() : nil
    }

    /// `checkCount`: the number of signatures that were checked together; each took its part of the
    /// time.
    func end(_ startedAt: MonotonicInstant?, checkCount: Int) {
        guard let startedAt else { return }
        let nanoseconds = MonotonicInstant.now().nanoseconds(since: startedAt)
        for _ in 0..<checkCount {
            histogram.record(nanoseconds: nanoseconds / UInt64(checkCount))
        }
    }
}
