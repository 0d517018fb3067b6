import AppAttest
import EventLoop
import KeyStore

/// The look-ups of one turn of a worker's loop: the registry is asked for eight at once, and for
/// the rest when the turn ends.
///
/// Whoever asks for one key wakes the registry's thread, which pushes the worker from its processor
/// if both have the same. For eight keys that happens once.
final class LookUpQueue {
    private let registry: any Registry
    private var waiting: [RegistryLookUp] = []
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
        registry.find(waiting)
        waiting.removeAll(keepingCapacity: true)
    }

    /// The first one waits for the heads of the others, some 10 us each.
    private static let lookUpCountMax = 8
}
