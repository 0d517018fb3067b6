import AppAttest
import KeyStore
import Testing

/// A registry whose thread is the test.
final class HeldRegistry: QueuedRegistry {
    let queue: RegistryQueue

    init() throws { queue = try RegistryQueue(operationCountMax: 10_000, writesApart: true) }

    /// Takes all that waits, answers the floors among it, and counts them.
    func takeFloors() -> Int {
        var count = 0
        for operation in queue.takeBatch().operations {
            guard case .raiseFloors(let floors, let reply) = operation else { continue }
            count += floors.count
            reply(.success(()))
        }
        return count
    }

    func close() { queue.abandon(StoreError("registry: closed")) }
}

@Suite("What waits for a registry")
struct RegistryQueueTests {
    private func isFloors(_ operation: RegistryOperation) -> Bool {
        if case .raiseFloors = operation { true } else { false }
    }

    @Test("an enrolment goes before floors that were asked for earlier, and none is left behind")
    func floorsLast() throws {
        var generator = SeededGenerator(seed: 12)
        let registry = try HeldRegistry()
        for _ in 0..<10 { registry.raiseFloors([(generator.keyID(), 1)]) { _ in } }
        registry.enrol(generator.record(), challenge: generator.bytes16()) { _ in }
        let first = registry.queue.takeWrites().operations
        #expect(first.map(isFloors) == [false, true, true, true, true])
        registry.enrol(generator.record(), challenge: generator.bytes16()) { _ in }
        let second = registry.queue.takeWrites().operations
        #expect(second.map(isFloors) == [false, true, true, true, true])
        registry.queue.close()
        let last = registry.queue.takeWrites()
        #expect(last.isClosing && last.operations.map(isFloors) == [true, true])
    }
}
