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
    private let readEvent: LoopEvent
    private let writeEvent: LoopEvent
    private unowned(unsafe) var heldHandler: (any ReadinessHandler)?
    public private(set) var isReading = false
    public private(set) var isWriting = false
    private var isCancelled = false

    /// Waits for nothing yet. The handler may be set later, before anything is enabled: so an
    /// object can make its watch first and then name itself.
    public init(loop: EventLoop, descriptor: Int32, handler: (any ReadinessHandler)? = nil) {
        self.descriptor = descriptor
        unsafe heldHandler = handler
        readEvent = LoopEvent(loop: loop)
        writeEvent = LoopEvent(loop: loop)
        unsafe readEvent.assign(
            descriptor: descriptor, kinds: EV_READ | EV_PERSIST,
            callback: descriptorIsReadable, context: self)
        unsafe writeEvent.assign(
            descriptor: descriptor, kinds: EV_WRITE | EV_PERSIST,
            callback: descriptorIsWritable, context: self)
    }

    /// Whom to tell. Not held.
    public var handler: (any ReadinessHandler)? {
        get { unsafe heldHandler }
        set { unsafe heldHandler = newValue }
    }

    public func enableReading() {
        if isReading { return }
        precondition(!isCancelled, "a cancelled watch was enabled")
        isReading = true
        readEvent.add()
    }

    public func disableReading() {
        guard isReading else { return }
        isReading = false
        readEvent.remove()
    }

    public func enableWriting() {
        if isWriting { return }
        precondition(!isCancelled, "a cancelled watch was enabled")
        isWriting = true
        writeEvent.add()
    }

    public func disableWriting() {
        guard isWriting else { return }
        isWriting = false
        writeEvent.remove()
    }

    /// Ends the registration for good. Call it before the descriptor is closed.
    public func cancel() {
        disableReading()
        disableWriting()
        isCancelled = true
        unsafe heldHandler = nil
    }

    fileprivate var loop: EventLoop { readEvent.loop }
}

private func descriptorIsReadable(
    _: Int32, _: Int16, _ context: UnsafeMutableRawPointer?
) {
    guard let context = unsafe context else { preconditionFailure("a watch without a context") }
    let watch = unsafe Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue()
    let loop = watch.loop
    loop.callbackStarts()
    watch.handler?.descriptorIsReadable()
    loop.callbackEnds()
}

private func descriptorIsWritable(
    _: Int32, _: Int16, _ context: UnsafeMutableRawPointer?
) {
    guard let context = unsafe context else { preconditionFailure("a watch without a context") }
    let watch = unsafe Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue()
    let loop = watch.loop
    loop.callbackStarts()
    watch.handler?.descriptorIsWritable()
    loop.callbackEnds()
}
