/// Work that is done once at the end of a turn, however often it was asked for: flushing pipelined
/// commands, or writing collected log lines.
///
/// The hook retains its closure; a closure that captures the hook's owner should do so `unowned`.
/// Dropping the hook cancels it.
public final class TurnEndHook {
    private let loop: EventLoop
    private let list: HookList
    private var body: () -> Void
    /// The place in the loop's list; -1 if it is not scheduled.
    private var index = -1

    /// The kind of a hook's work, in the order in which a turn's end fires hooks.
    public enum Stage: Sendable {
        /// Asks other threads, which answer while this one works. Fired once more after the work.
        case ask
        /// Continues the requests that the turn has collected.
        case work
        /// Sends the results of the work, in the same turn.
        case send
    }

    public init(loop: EventLoop, stage: Stage = .send, _ body: @escaping () -> Void = {}) {
        self.loop = loop
        list = loop.hookList(stage)
        self.body = body
    }

    /// Sets the work of a hook that was made without. So an owner that the closure captures can
    /// hold the hook as a constant.
    public func setBody(_ body: @escaping () -> Void) { self.body = body }

    deinit { cancel() }

    /// Has the closure called once when this turn ends. Does nothing if it is scheduled already.
    public func schedule() {
        guard index < 0 else { return }
        loop.assertOwned()
        index = list.add(self)
    }

    public func cancel() {
        guard index >= 0 else { return }
        list.remove(self, at: index)
        index = -1
    }

    func fire() {
        index = -1
        let body = body
        body()
    }
}
