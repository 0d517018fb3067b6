import AppAttest
import EventLoop
import KeyStore

/// The look-ups of one turn of a worker's loop: the registry is asked for eight at once, and for
/// the rest when the turn ends.
///
/// Whoever asks for one key wakes the registry's thread, which preempts the worker if both share a
/// processor. For eight keys that happens once.
final class LookUpQueue {
    private let registry: any Registry
    private var waiting: [RegistryLookUp] = []
    /// Those that the registry is just being asked for.
    private var asked: [RegistryLookUp] = []
    private var turnEnd: TurnEndHook?

    init(_ registry: any Registry, loop: EventLoop) {
        self.registry = registry
        turnEnd = TurnEndHook(loop: loop, stage: .ask) { [unowned self] in ask() }
    }

    /// Has the registry look up a key soon: with the next few, at the latest when the turn ends.
    func add(_ lookUp: RegistryLookUp) {
        waiting.append(lookUp)
        if waiting.count >= Self.lookUpCountMax { ask() } else { turnEnd?.schedule() }
    }

    private func ask() {
        guard !waiting.isEmpty else { return }
        // A reply may add to the list.
        swap(&waiting, &asked)
        registry.find(asked)
        asked.removeAll(keepingCapacity: true)
    }

    /// The first one waits for the heads of the others, some 10 us each, and for what else comes
    /// between them: a turn has at most 64 callbacks.
    private static let lookUpCountMax = 8
}
