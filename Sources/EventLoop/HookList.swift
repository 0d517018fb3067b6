/// Hooks that wait for the end of a turn, in the order in which they were scheduled.
final class HookList {
    private var waiting: [Unheld<TurnEndHook>?] = []
    private var firing: [Unheld<TurnEndHook>?] = []

    var isEmpty: Bool { waiting.isEmpty }

    /// Adds a hook. Returns the place by which ``remove(_:at:)`` finds it.
    func add(_ hook: TurnEndHook) -> Int {
        waiting.append(Unheld(hook))
        return waiting.count - 1
    }

    func remove(_ hook: TurnEndHook, at index: Int) {
        // While hooks fire, those not yet fired stand in the other list.
        if index < firing.count, firing[index]?.refers(to: hook) == true {
            firing[index] = nil
        } else if index < waiting.count, waiting[index]?.refers(to: hook) == true {
            waiting[index] = nil
        }
    }

    /// Fires every hook that waits now, each after `prepare`. Hooks that are scheduled meanwhile
    /// wait for the next call.
    @inline(__always)
    func fire(_ prepare: () -> Void) {
        guard !waiting.isEmpty, firing.isEmpty else { return }
        swap(&waiting, &firing)
        for index in firing.indices {
            guard let hook = firing[index]?.object else { continue }
            prepare()
            firing[index] = nil
            hook.fire()
        }
        firing.removeAll(keepingCapacity: true)
    }
}
