import EventLoop

/// The pace at which a client takes waiting bytes, from the moment at which it did not take all at
/// once.
///
/// It ends, and starts anew, when nothing waits: pauses of the upstream are not the client's, and a
/// client that takes all waiting bytes, many kilobytes at a time, is not slow.
struct ReaderPace {
    private var start: MonotonicInstant?
    private var writtenByteCount = 0
    /// The bytes that waited at the start, which the client has to take too.
    private var queuedByteCount = 0
    /// The bytes that it had taken at the last look, and the time of that look.
    private var takenByteCount = 0
    private var takenAt = MonotonicInstant(nanoseconds: 0)
    /// The time at which the client would be late, by the last check.
    private(set) var due = MonotonicInstant(nanoseconds: 0)

    var isRunning: Bool { start != nil }

    mutating func begin(now: MonotonicInstant, queued: Int) {
        start = now
        writtenByteCount = 0
        queuedByteCount = queued
        takenByteCount = 0
        takenAt = now
    }

    mutating func end() { start = nil }

    /// Notes that there are more bytes to take.
    mutating func wrote(_ byteCount: Int) { writtenByteCount += byteCount }

    /// The nanoseconds until the client is late; 0 if it is: because it is slower than `pace`, or
    /// has taken no byte for `send`. `queued`: the bytes that wait now. `isDue`: the time of the
    /// last check is over.
    ///
    /// A kernel asks for more bytes only when a good part of its queue is gone, which takes a slow
    /// client long. The rest of the queue therefore tells its progress.
    mutating func rest(
        _ pace: BodyPace, send: UInt64, now: MonotonicInstant, queued: Int, isDue: Bool = false
    ) -> UInt64 {
        guard let start else { return send }
        let now = isDue ? max(now, due) : now
        let taken = queuedByteCount + writtenByteCount - queued
        if taken > takenByteCount {
            takenByteCount = taken
            takenAt = now
        }
        let latest = pace.deadline(since: start, byteCount: takenByteCount)
        let idle = now.nanoseconds(since: takenAt)
        let rest = min(latest.nanoseconds(since: now), send > idle ? send - idle : 0)
        due = now.advanced(byNanoseconds: rest)
        return rest
    }
}

/// A pace that its connection holds only while it needs one: idle connections are many.
final class HeldPace {
    var pace = ReaderPace()

    init(since now: MonotonicInstant, queued: Int) { pace.begin(now: now, queued: queued) }

    /// The nanoseconds until the client is late by the present settings (``ReaderPace/rest``).
    func rest(_ services: WorkerServices, queued: Int, isDue: Bool = false) -> UInt64 {
        let site = services.site
        return pace.rest(
            site.responsePace, send: site.timeouts.send, now: services.loop.now, queued: queued,
            isDue: isDue)
    }
}
