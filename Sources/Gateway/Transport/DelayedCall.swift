import EventLoop

/// A deadline that calls a closure, for a connection that has more than one.
final class DelayedCall: DeadlineHandler {
    private var deadline: Deadline?
    private let body: () -> Void

    /// The closure should hold its owner `unowned`.
    init(wheel: DeadlineWheel, _ body: @escaping () -> Void) {
        self.body = body
        deadline = Deadline(wheel: wheel, handler: self)
    }

    func set(afterNanoseconds nanoseconds: UInt64) {
        deadline?.set(afterNanoseconds: nanoseconds)
    }

    func deadlineExpired() {
        let body = body
        body()
    }
}
