import Foundation

/// Closed until somebody opens it; opened, it stays open.
public final class Gate: @unchecked Sendable {
    private let changed = NSCondition()
    private var isOpen = false

    public init() {}

    public func open() {
        changed.withLock {
            isOpen = true
            changed.broadcast()
        }
    }

    /// Returns once the gate is open, or after a time that no test waits for.
    public func wait() {
        let limit = Date(timeIntervalSinceNow: TimeInterval(RawSocket.patienceSeconds))
        changed.withLock { while !isOpen, changed.wait(until: limit) {} }
    }
}
