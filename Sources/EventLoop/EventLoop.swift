import CLibevent
import CLinux

/// One libevent base, owned and run by one thread.
///
/// libevent's own locks are off: only the thread that runs the loop may touch it or anything
/// registered with it. Other threads reach it through a ``Mailbox``. Watches, timers and hooks
/// retain their loop, so it lives as long as the last of them.
@safe
public final class EventLoop {
    let base: OpaquePointer
    private var isStopped = false
    private var isRunning = false
    /// The thread inside ``run()``, 0 outside.
    private var owner: pthread_t = 0
    /// The clock as this callback has read it; 0 if it has not.
    @usableFromInline
    var callbackTime: UInt64 = 0
    private var callbackCount = 0
    // The hooks of this turn, by stage.
    private let asking = HookList()
    private let working = HookList()
    private let sending = HookList()

    /// The number of callbacks after which a turn ends although more descriptors are ready: a
    /// hundred expensive requests in one batch must not make the first one wait for the flush that
    /// sends it on.
    static let callbackCountMax = 64

    /// The clock that tests move, or nil if time passes by itself.
    let manualClock: ManualClock?

    public convenience init() throws(EventLoopError) { try self.init(clock: nil) }

    /// Makes a loop. With a clock it is stepped by ``runUntilIdle()`` instead of running by itself.
    package init(clock: ManualClock?) throws(EventLoopError) {
        manualClock = clock
        try Self.requireDescriptors()
        guard let config = unsafe event_config_new() else { throw .outOfMemory }
        defer { unsafe event_config_free(config) }
        // The environment must not be able to swap epoll for another method.
        let flags = EVENT_BASE_FLAG_NOLOCK.rawValue | EVENT_BASE_FLAG_IGNORE_ENV.rawValue
        unsafe event_config_set_flag(config, Int32(flags))
        unsafe event_config_require_features(config, Int32(EV_FEATURE_O1.rawValue))
        guard let base = unsafe event_base_new_with_config(config) else {
            throw .unavailable(errno: sallyport_errno())
        }
        unsafe self.base = base
    }

    deinit { unsafe event_base_free(base) }

    /// The number of descriptors that a loop needs: one of epoll and a pipe. If the pipe cannot be
    /// made, libevent ends the process.
    private static let descriptorCount = 3

    private static func requireDescriptors() throws(EventLoopError) {
        var spare: [Int32] = []
        defer { for descriptor in spare { Socket.close(descriptor) } }
        for _ in 0..<descriptorCount {
            let descriptor = eventfd(0, Int32(EFD_CLOEXEC))
            guard descriptor >= 0 else { throw .unavailable(errno: sallyport_errno()) }
            spare.append(descriptor)
        }
    }

    /// Handles events until ``stop()``, or until nothing is left that could wake the loop.
    ///
    /// A turn is one batch of callbacks (at most 64) followed by the scheduled ``TurnEndHook``s,
    /// stage by stage.
    public func run() {
        precondition(!isRunning, "a loop runs once at a time")
        isRunning = true
        owner = pthread_self()
        defer {
            isRunning = false
            isStopped = false
            owner = 0
        }
        while true {
            endTurn()
            if isStopped { break }
            // A hook that schedules another one must not wait for the next event.
            let flags = !hasHooks ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK
            let result = unsafe event_base_loop(base, flags)
            // epoll_wait fails only because of a descriptor or an address that is not ours.
            precondition(result >= 0, "event_base_loop failed")
            if result == 1, !hasHooks { break }
        }
        // Whatever the last hooks scheduled (a log line about a failed flush) still goes out.
        var passCount = 0
        while hasHooks, passCount < 8 {
            endTurn()
            passCount += 1
        }
    }

    /// Makes ``run()`` return after the current callback and the hooks of its turn; called while
    /// the loop is not running, the next ``run()`` returns at once.
    public func stop() {
        assertOwned()
        isStopped = true
        unsafe event_base_loopbreak(base)
    }

    /// The time, read at most once in each callback.
    @inlinable
    public var now: MonotonicInstant {
        callbackTime != 0 ? MonotonicInstant(nanoseconds: callbackTime) : readClock()
    }

    @usableFromInline
    func readClock() -> MonotonicInstant {
        if let manualClock { return manualClock.now }
        let instant = MonotonicInstant.now()
        if isRunning { callbackTime = instant.nanoseconds }
        return instant
    }

    /// Milliseconds since 1970-01-01T00:00:00Z, by a clock that may step.
    public var wallMilliseconds: Int64 {
        if let manualClock { return manualClock.wallMilliseconds }
        return WallClock.milliseconds()
    }

    /// A random factor between 0 and 1, so that callers who wait for the same event do not all come
    /// back at once.
    public var jitter: Double { manualClock == nil ? Double.random(in: 0...1) : 0.5 }

    /// Handles everything that is ready now, and the hooks of that turn. False if there was
    /// nothing.
    func turn() -> Bool {
        endTurn()
        let result = unsafe event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK)
        precondition(result >= 0, "event_base_loop failed")
        let isHandled = callbackCount > 0 || hasHooks
        endTurn()
        return isHandled
    }

    /// Every callback from libevent starts with this.
    @inline(__always)
    func callbackStarts() { callbackTime = 0 }

    /// Every callback from libevent ends with this.
    @inline(__always)
    func callbackEnds() {
        callbackCount &+= 1
        if callbackCount >= Self.callbackCountMax { endTurn() }
    }

    /// Checks that a running loop is used by the thread that runs it.
    @inline(__always)
    func assertOwned() {
        assert(owner == 0 || owner == pthread_self(), "a loop was touched from another thread")
    }

    // MARK: turn end

    private func endTurn() {
        callbackCount = 0
        callbackTime = 0
        asking.fire { callbackTime = 0 }
        working.fire { callbackTime = 0 }
        // Questions that the work still has are asked in the same turn.
        asking.fire { callbackTime = 0 }
        sending.fire { callbackTime = 0 }
    }

    private var hasHooks: Bool { !asking.isEmpty || !working.isEmpty || !sending.isEmpty }

    /// The list in which a hook of this stage waits for the turn's end.
    func hookList(_ stage: TurnEndHook.Stage) -> HookList {
        switch stage {
        case .ask: asking
        case .work: working
        case .send: sending
        }
    }
}

/// The reason why a loop could not be made.
public enum EventLoopError: Error, Hashable, Sendable, CustomStringConvertible {
    case outOfMemory
    case unavailable(errno: Int32)

    public var description: String {
        switch self {
        case .outOfMemory: "event loop: out of memory"
        case .unavailable(let errno): "event loop: \(IOError.text(errno: errno))"
        }
    }
}
