import CLibevent

/// Calls a closure after a while, once or again and again, never early.
///
/// For the few timers of a worker or the control thread; the timeouts of connections belong in a
/// ``DeadlineWheel``. The timer retains its closure, which should capture the timer's owner
/// `unowned`. Dropping the timer cancels it, also inside the closure.
public final class Timer {
    private let event: LoopEvent
    private let handler: () -> Void
    private(set) var due = MonotonicInstant.distantFuture
    /// The interval in nanoseconds; 0 for a timer that fires once.
    private var period: UInt64 = 0

    public init(loop: EventLoop, handler: @escaping () -> Void) {
        event = LoopEvent(loop: loop)
        self.handler = handler
        unsafe event.assign(descriptor: -1, kinds: 0, callback: timerIsDue, context: self)
    }

    /// Fires once, `delay` from now; replaces an earlier schedule.
    public func schedule(after delay: Duration) {
        period = 0
        arm(at: event.loop.now + delay)
    }

    /// Fires every `interval`, first after one interval. Ticks missed while the loop was busy are
    /// skipped, not made up for.
    public func scheduleRepeating(every interval: Duration) {
        let nanoseconds = interval.wholeNanoseconds
        precondition(nanoseconds > 0, "a timer cannot repeat without a pause")
        period = nanoseconds
        arm(at: event.loop.now.advanced(byNanoseconds: nanoseconds))
    }

    public func cancel() {
        guard isScheduled else { return }
        due = .distantFuture
        event.loop.manualClock?.remove(self)
        event.remove()
    }

    deinit { event.loop.manualClock?.remove(self) }

    public var isScheduled: Bool { due != .distantFuture }

    private func arm(at instant: MonotonicInstant) {
        due = instant
        if let clock = event.loop.manualClock { return clock.insert(self) }
        let now = event.loop.now
        // At most a hundred years, far below the limit of a timeval.
        let wait = min(instant.nanoseconds(since: now), 100 * 366 * 86_400 * 1_000_000_000)
        event.add(afterNanoseconds: wait)
    }

    func fire() {
        let loop = event.loop
        loop.callbackStarts()
        let now = loop.now
        if now < due {
            // libevent's clock is coarse, and may call a few milliseconds too early.
            arm(at: due)
        } else {
            if period > 0 {
                let missedCount = now.nanoseconds(since: due) / period
                arm(at: due.advanced(byNanoseconds: period * (missedCount + 1)))
            } else {
                due = .distantFuture
            }
            let handler = handler
            handler()
        }
        loop.callbackEnds()
    }
}

private func timerIsDue(_: Int32, _: Int16, _ context: UnsafeMutableRawPointer?) {
    guard let context = unsafe context else { preconditionFailure("a timer without a context") }
    unsafe Unmanaged<Timer>.fromOpaque(context).takeUnretainedValue().fire()
}
