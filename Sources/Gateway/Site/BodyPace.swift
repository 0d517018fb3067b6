import EventLoop
import Settings

/// The slowest pace at which a request body may come, or an answer be taken. A bound on pauses
/// alone lets a client hold a connection, a buffer and perhaps a file for a byte each half minute.
struct BodyPace: Sendable {
    /// Nanoseconds from the start to the moment from which the average counts.
    let grace: UInt64
    /// The time that each byte of the body buys; nil if any pace is accepted.
    let nanosecondsPerByte: UInt64?

    init(byteRate rate: Int, grace: UInt64) {
        self.grace = grace
        nanosecondsPerByte = rate > 0 ? 1_000_000_000 / UInt64(rate) : nil
    }

    /// The moment from which `byteCount` bytes since `start` are too few.
    func deadline(since start: MonotonicInstant, byteCount: Int) -> MonotonicInstant {
        guard let nanosecondsPerByte else { return .distantFuture }
        let bought = UInt64(byteCount).multipliedReportingOverflow(by: nanosecondsPerByte)
        guard !bought.overflow else { return .distantFuture }
        return start.advanced(byNanoseconds: grace).advanced(byNanoseconds: bought.partialValue)
    }
}
