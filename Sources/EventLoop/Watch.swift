import CLibevent

/// The handler of a descriptor's readiness. Calls are level-triggered: they repeat as long as the
/// state lasts, so a handler reads until `.wouldBlock` or a bound of its own, and enables writing
/// only after a write would have blocked.
public protocol ReadinessHandler: AnyObject {
    func descriptorIsReadable()
    func descriptorIsWritable()
}

/// A descriptor's registration with a loop; dropping it ends the registration.
///
/// The handler is not retained. It owns the watch (or outlives it): when the handler is
/// deallocated, its watch must be cancelled or dropped at the same moment, and no call comes
/// afterwards, not even for an event of the same turn. A handler may cancel or drop the watch
/// inside its own calls. Cancel before closing the descriptor.
@safe
public final class Watch {
    public let descriptor: Int32
    /// The lower half of ``heldUntil`` in milliseconds, which fits in unused memory. Without the
    /// upper half, a delay looks shorter than it was for a moment in 50 days.
    private var heldUntilMilliseconds: UInt32 = 0
    private let readEvent: LoopEvent
    /// The event of writing. It is made when it is first waited for, because most peers take
    /// written bytes at once.
    private var writeEvent: LoopEvent?
    /// The events retain the loop.
    private let loop: Unmanaged<EventLoop>
    private unowned(unsafe) var heldHandler: (any ReadinessHandler)?
    public private(set) var isReading = false
    public private(set) var isWriting = false
    private var isWatchingChanges = false
    private var isEdgeTriggered = false
    private var isCancelled = false
    private var hasRead = false

    /// Waits for no event yet. The handler may be set later, before anything is enabled, so that an
    /// object can make its watch first and then set itself.
    public init(loop: EventLoop, descriptor: Int32, handler: (any ReadinessHandler)? = nil) {
        self.descriptor = descriptor
        unsafe heldHandler = handler
        unsafe self.loop = Unmanaged.passUnretained(loop)
        readEvent = LoopEvent(loop: loop)
        assignReadEvent()
    }

    /// The time until which reading was disabled, or the connection was not accepted, because of a
    /// limit of the reader: earlier bytes have waited for that limit. To the millisecond, and
    /// within the last 50 days.
    public var heldUntil: MonotonicInstant {
        get {
            let now = unsafe loop._withUnsafeGuaranteedRef { $0.now }
            let age = UInt32(truncatingIfNeeded: now.milliseconds) &- heldUntilMilliseconds
            return MonotonicInstant(
                nanoseconds: now.nanoseconds - min(now.nanoseconds, UInt64(age) * 1_000_000))
        }
        set { heldUntilMilliseconds = UInt32(truncatingIfNeeded: newValue.milliseconds) }
    }

    /// The mode of both events of a descriptor, because libevent accepts only one.
    private var mode: Int32 { isEdgeTriggered ? EV_ET : 0 }

    private func assignReadEvent() {
        unsafe readEvent.assign(
            descriptor: descriptor, kinds: EV_READ | EV_PERSIST | mode,
            callback: descriptorIsReadable, context: self)
    }

    private func assignWriteEvent() {
        unsafe writeEvent?.assign(
            descriptor: descriptor, kinds: EV_WRITE | EV_PERSIST | mode,
            callback: descriptorIsWritable, context: self)
    }

    /// Sets the mode, while reading is disabled.
    private func setEdgeTriggered(_ isWanted: Bool) {
        guard isWanted != isEdgeTriggered else { return }
        isEdgeTriggered = isWanted
        if isWriting { writeEvent?.remove() }
        assignReadEvent()
        assignWriteEvent()
        if isWriting { writeEvent?.add() }
    }

    /// The handler that is told of readiness. It is not retained.
    public var handler: (any ReadinessHandler)? {
        get { unsafe heldHandler }
        set { unsafe heldHandler = newValue }
    }

    public func enableReading() {
        if isReading { return }
        precondition(!isCancelled, "a cancelled watch was enabled")
        disableReading()
        setEdgeTriggered(false)
        isReading = true
        if hasRead { unsafe loop._withUnsafeGuaranteedRef { heldUntil = $0.now } }
        hasRead = true
        readEvent.add()
    }

    public func disableReading() {
        guard isReading || isWatchingChanges else { return }
        isReading = false
        isWatchingChanges = false
        readEvent.remove()
    }

    /// Has `descriptorIsReadable` called again soon, though the descriptor may have nothing,
    /// because the handler holds bytes that were read ahead. Only while reading is enabled.
    public func repeatReading() {
        if isReading { readEvent.activate(EV_READ) }
    }

    /// Stops reading, but still notices the peer's loss. For a peer that has sent its last byte, or
    /// more than may be held: its end would be reported again and again if reading stayed enabled,
    /// and would not be reported if it were disabled.
    ///
    /// The handler's `descriptorIsReadable` is called once for the present state and then for each
    /// change, and asks ``Socket/isGone(_:)``. Writing works as usual for a handler that writes
    /// until it would block, or else calls ``repeatWriting()``. ``enableReading()`` and
    /// ``disableReading()`` end this.
    public func watchChanges() {
        if isWatchingChanges { return }
        precondition(!isCancelled, "a cancelled watch was enabled")
        disableReading()
        setEdgeTriggered(true)
        isWatchingChanges = true
        readEvent.add()
    }

    public func enableWriting() {
        if isWriting { return }
        precondition(!isCancelled, "a cancelled watch was enabled")
        isWriting = true
        if writeEvent == nil {
            unsafe loop._withUnsafeGuaranteedRef { writeEvent = LoopEvent(loop: $0) }
            assignWriteEvent()
        }
        writeEvent?.add()
    }

    /// Has `descriptorIsWritable` called again in a later turn, because the handler has stopped
    /// before a write would have blocked. Only while writing is enabled. Without this there is no
    /// call while ``watchChanges()`` is in force, because nothing changes.
    public func repeatWriting() {
        guard isWriting, isEdgeTriggered else { return }
        writeEvent?.remove()
        writeEvent?.add()
    }

    public func disableWriting() {
        guard isWriting else { return }
        isWriting = false
        writeEvent?.remove()
    }

    /// Ends the registration for good. Call it before the descriptor is closed.
    public func cancel() {
        disableReading()
        disableWriting()
        isCancelled = true
        unsafe heldHandler = nil
    }

    /// Has `body` call the handler. The handler is retained meanwhile, because it may be released
    /// in its own call, and the watch with it. The loop is not: its running call retains it.
    @inline(__always)
    fileprivate static func call(
        _ context: UnsafeMutableRawPointer, _ body: (any ReadinessHandler) -> Void
    ) {
        let watch = unsafe Unmanaged<Watch>.fromOpaque(context)
        let loop = unsafe watch._withUnsafeGuaranteedRef { unsafe $0.loop }
        unsafe loop._withUnsafeGuaranteedRef { $0.callbackStarts() }
        if let handler = unsafe watch._withUnsafeGuaranteedRef({ $0.handler }) { body(handler) }
        unsafe loop._withUnsafeGuaranteedRef { $0.callbackEnds() }
    }
}

private func descriptorIsReadable(
    _: Int32, _: Int16, _ context: UnsafeMutableRawPointer?
) {
    guard let context = unsafe context else { preconditionFailure("a watch without a context") }
    unsafe Watch.call(context) { $0.descriptorIsReadable() }
}

private func descriptorIsWritable(
    _: Int32, _: Int16, _ context: UnsafeMutableRawPointer?
) {
    guard let context = unsafe context else { preconditionFailure("a watch without a context") }
    unsafe Watch.call(context) { $0.descriptorIsWritable() }
}
