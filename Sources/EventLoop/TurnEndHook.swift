/// Work done once at the end of a turn, however often it was asked for: flush pipelined commands,
/// write collected log lines.
///
/// The hook holds its closure; a closure that captures the hook's owner should do so `unowned`.
/// Dropping the hook cancels it.
public final class TurnEndHook {
    private let loop: EventLoop
    private let list: HookList
    private let body: () -> Void
    /// Place in the loop's list, -1 when not scheduled.
    private var index = -1

    /// What a hook does, in the order in which a turn's end fires them.
    public enum Stage: Sendable {
        /// Asks other threads, which answer while this one works; once more after the work.
        case ask
        /// Goes on with what the turn has collected.
        case work
        /// Sends on what came of it, in the same turn.
        case send
    }

    public init(loop: EventLoop, stage: Stage = .send, _ body: @escaping () -> Void) {
        self.loop = loop
        list = loop.hookList(stage)
        self.body = body
    }

    deinit { cancel() }

    /// Has the closure run once when this turn ends; does nothing if it is scheduled already.
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
