import Foundation

/// Closed until somebody opens it; opened, it stays open.
public final class Gate: @unchecked Sendable {
    private let changed = NSCondition()
    private var hasOpened = false

    public init() {}

    public var isOpen: Bool { changed.withLock { hasOpened } }

    public func open() {
        changed.withLock {
            hasOpened = true
            changed.broadcast()
        }
    }

    /// Returns once the gate is open, or after a time that no test waits for.
    public func wait() {
        let limit = Date(timeIntervalSinceNow: TimeInterval(RawSocket.patienceSeconds))
        changed.withLock { while !hasOpened, changed.wait(until: limit) {} }
    }
}
