/// Clocks that stand still until a test moves them.
///
/// A loop with a manual clock is not run but stepped: ``EventLoop/runUntilIdle()`` handles
/// everything that is ready and due, so that the same steps always do the same.
package final class ManualClock {
    /// The time of ``EventLoop/now``. Never move it back.
    package var now: MonotonicInstant
    /// The time of ``EventLoop/wallMilliseconds``. It may step either way.
    package var wallMilliseconds: Int64
    private var timers: [Unheld<Timer>] = []

    package init(now: MonotonicInstant, wallMilliseconds: Int64) {
        self.now = now
        self.wallMilliseconds = wallMilliseconds
    }

    func insert(_ timer: Timer) {
        remove(timer)
        timers.append(Unheld(timer))
    }

    func remove(_ timer: Timer) { timers.removeAll { $0.refers(to: timer) } }

    /// Takes out the timer that has been due for longest; of two, the one that was set first.
    func takeDue() -> Timer? {
        let due = timers.filter { $0.object.due <= now }.min { $0.object.due < $1.object.due }
        guard let timer = due?.object else { return nil }
        remove(timer)
        return timer
    }
}

extension EventLoop {
    /// Handles descriptors that are ready and timers that are due, until nothing is left to do.
    /// Replaces ``run()`` on a loop with a manual clock.
    package func runUntilIdle() {
        guard let manualClock else { preconditionFailure("the clock of this loop runs by itself") }
        // A batch that filled a turn exactly leaves no trace.
        var idleCount = 0
        while idleCount < 2 {
            let isHandled = turn()
            if let timer = manualClock.takeDue() {
                timer.fire()
                idleCount = 0
            } else {
                idleCount = isHandled ? 0 : idleCount + 1
            }
        }
    }
}
