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

    /// `isWork`: the hook goes on with what the turn has collected, before the hooks that send
    /// something on are fired: what they get by it leaves in the same turn.
    public init(loop: EventLoop, isWork: Bool = false, _ body: @escaping () -> Void) {
        self.loop = loop
        list = loop.hookList(isWork: isWork)
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
