/// The handler of a deadline. It may set, clear or drop any deadline in the call.
public protocol DeadlineHandler: AnyObject {
    func deadlineExpired()
}

/// One moving timeout of a connection, kept in a ``DeadlineWheel``.
///
/// It is made once and moved for every request: setting it later, or clearing it, writes one field.
/// It fires at most one ``DeadlineWheel/granularity`` and one loop turn late, never early, and once
/// for each `set`. The handler is not retained: it owns the deadline or outlives it. Dropping the
/// deadline takes it out of the wheel.
@safe
public final class Deadline {
    private let wheel: DeadlineWheel
    private unowned(unsafe) var heldHandler: (any DeadlineHandler)?
    /// The due time in nanoseconds; `UInt64.max` if the deadline is not set.
    var due = UInt64.max
    /// The wheel's list that holds this deadline, -1 for none.
    var list = -1
    /// The tick at which that list comes up.
    var tick: UInt64 = 0
    unowned(unsafe) var next: Deadline?
    unowned(unsafe) var previous: Deadline?

    /// The handler may be set later, before the deadline is first set.
    public init(wheel: DeadlineWheel, handler: (any DeadlineHandler)? = nil) {
        self.wheel = wheel
        unsafe heldHandler = handler
        unsafe next = nil
        unsafe previous = nil
    }

    deinit {
        if list >= 0 { wheel.unlink(self) }
    }

    /// The handler that is called when the deadline passes. It is not retained.
    public var handler: (any DeadlineHandler)? {
        get { unsafe heldHandler }
        set { unsafe heldHandler = newValue }
    }

    public var isSet: Bool { due != .max }

    public func set(at instant: MonotonicInstant) {
        due = instant.nanoseconds
        if list < 0 || DeadlineWheel.tick(of: due) < tick { wheel.link(self) }
    }

    /// Sets the deadline to `nanoseconds` from the loop's present.
    public func set(afterNanoseconds nanoseconds: UInt64) {
        set(at: wheel.loop.now.advanced(byNanoseconds: nanoseconds))
    }

    /// Clears the deadline. The wheel forgets the entry when its slot comes up.
    public func clear() { due = .max }
}
