import CLibevent

/// Is told when a descriptor can be read or written. Calls are level-triggered: they repeat as long
/// as the state lasts, so a handler reads until `.wouldBlock` or a bound of its own, and enables
/// writing only after a write would have blocked.
public protocol ReadinessHandler: AnyObject {
    func descriptorIsReadable()
    func descriptorIsWritable()
}

/// A descriptor's registration with a loop; dropping it ends the registration.
///
/// The handler is not held. It owns the watch (or outlives it): when the handler goes, its watch
/// must be cancelled or dropped in the same moment, and no call comes afterwards, not even for an
/// event of the same turn. A handler may cancel or drop the watch inside its own calls. Cancel
/// before closing the descriptor.
@safe
public final class Watch {
    public let descriptor: Int32
    /// ``heldUntil`` in milliseconds, the lower half: it lies where memory was unused. What it
    /// loses makes, for a moment in 50 days, a delay look shorter than it was.
    private var heldUntilMilliseconds: UInt32 = 0
    private let readEvent: LoopEvent
    /// Made when it is first waited for: most peers take at once what is written.
    private var writeEvent: LoopEvent?
    /// The events hold it.
    private let loop: Unmanaged<EventLoop>
    private unowned(unsafe) var heldHandler: (any ReadinessHandler)?
    public private(set) var isReading = false
    public private(set) var isWriting = false
    private var isWatchingChanges = false
    private var isEdgeTriggered = false
    private var isCancelled = false
    private var hasRead = false

    /// Waits for nothing yet. The handler may be set later, before anything is enabled: so an
    /// object can make its watch first and then name itself.
    public init(loop: EventLoop, descriptor: Int32, handler: (any ReadinessHandler)? = nil) {
        self.descriptor = descriptor
        unsafe heldHandler = handler
        unsafe self.loop = Unmanaged.passUnretained(loop)
        readEvent = LoopEvent(loop: loop)
        assignReadEvent()
    }

    /// Bytes that came before this time have waited for their reader's own bound: reading was
    /// disabled until then, or the connection was not accepted. To the millisecond, and in the last
    /// 50 days.
    public var heldUntil: MonotonicInstant {
        get {
            let now = unsafe loop._withUnsafeGuaranteedRef { $0.now }
            let age = UInt32(truncatingIfNeeded: now.milliseconds) &- heldUntilMilliseconds
            return MonotonicInstant(
                nanoseconds: now.nanoseconds - min(now.nanoseconds, UInt64(age) * 1_000_000))
        }
        set { heldUntilMilliseconds = UInt32(truncatingIfNeeded: newValue.milliseconds) }
    }

    /// libevent takes one mode for both events of a descriptor.
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

    /// While nothing is read.
    private func setEdgeTriggered(_ isWanted: Bool) {
        guard isWanted != isEdgeTriggered else { return }
        isEdgeTriggered = isWanted
        if isWriting { writeEvent?.remove() }
        assignReadEvent()
        assignWriteEvent()
        if isWriting { writeEvent?.add() }
    }

    /// The handler that is told of readiness. It is not held.
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

    /// Has `descriptorIsReadable` called again soon, though the descriptor may have nothing: the
    /// handler holds bytes that were read ahead. Only while reading is enabled.
    public func repeatReading() {
        if isReading { readEvent.activate(EV_READ) }
    }

    /// Reads no more, and yet notices the peer's loss. For a peer that has sent its last byte, or
    /// more than may be held: its end would be told again and again if reading stayed enabled, and
    /// nothing would be told if it were disabled.
    ///
    /// The handler's `descriptorIsReadable` is called once for what is so already and then for each
    /// change, and asks ``Socket/isGone(_:)``. Writing works as usual for a handler that writes
    /// until it would block; ``enableReading()`` and ``disableReading()`` end this.
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
        let handler = unsafe watch._withUnsafeGuaranteedRef { $0.handler }
        if let handler { body(handler) }
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
