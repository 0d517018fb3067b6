import EventLoop

/// Bounds the lines of each kind of event in the event log, and counts all events: a server that
/// comes and goes with every request must not fill the disk.
struct EventThrottle {
    private struct Window {
        let end: MonotonicInstant
        var writtenCount = 0
        var leftOutCount: UInt64 = 0
    }

    /// The windows by the names of events. The code has some dozens of them.
    private var windows: [String: Window] = [:]
    private(set) var counts: [String: UInt64] = [:]

    /// Counts an event. False if its line is to be left out.
    mutating func admits(_ name: String, at now: MonotonicInstant) -> Bool {
        count(name)
        var window = window(of: name, at: now)
        let isAdmitted = window.writtenCount < Self.countMax
        if isAdmitted { window.writtenCount += 1 } else { window.leftOutCount &+= 1 }
        windows[name] = window
        return isAdmitted
    }

    /// Counts an event that was left out elsewhere. It is reported like one that was left out here.
    mutating func leaveOut(_ name: String, at now: MonotonicInstant) {
        count(name)
        var window = window(of: name, at: now)
        window.leftOutCount &+= 1
        windows[name] = window
    }

    private func window(of name: String, at now: MonotonicInstant) -> Window {
        let window = windows[name] ?? Window(end: now + Self.interval)
        // A window that is over and has left something out stays until ``takeLeftOut(at:)`` reports
        // it.
        let isDone = now >= window.end && window.leftOutCount == 0
        return isDone ? Window(end: now + Self.interval) : window
    }

    mutating func count(_ name: String) { counts[name, default: 0] &+= 1 }

    /// Returns the number of events left out in the minutes that are over by now, and forgets these
    /// minutes.
    mutating func takeLeftOut(at now: MonotonicInstant) -> [(name: String, count: UInt64)] {
        let over = windows.filter { now >= $0.value.end }
        for name in over.keys { windows[name] = nil }
        return over.filter { $0.value.leftOutCount > 0 }
            .map { ($0.key, $0.value.leftOutCount) }
            .sorted { $0.0 < $1.0 }
    }

    static let interval = Duration.seconds(60)
    static let countMax = 100
}
