import Attestation
import EventLoop
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
struct RegistryQueueTests {}

extension RegistryQueueTests {
    private func isFloors(_ operation: RegistryOperation) -> Bool {
        if case .raiseFloors = operation { true } else { false }
    }

    @Test("of several look-ups those that find no place are refused at once, each by itself")
    func places() throws {
        var generator = SeededGenerator(seed: 13)
        let queue = try RegistryQueue(operationCountMax: 2, writesApart: true)
        let refused = Locked<[Int]>([])
        let lookUps = (0..<4).map { index in
            RegistryLookUp(generator.keyID()) { result in
                guard case .failure(let error) = result, error.kind == .queueFull else { return }
                refused.withLock { $0.append(index) }
            }
        }
        let loop = try EventLoop()
        var counts: [Int] = []
        let receiver = queue.bell.attach(to: loop) { _ in
            counts.append(queue.takeReads().operations.count)
            loop.stop()
        }
        queue.post(lookUps)
        #expect(refused.withLock { $0 } == [2, 3])
        // The bell has rung, or the loop would wait for ever.
        loop.run()
        #expect(counts == [2])
        receiver.close()
        queue.post(Array(lookUps.prefix(1)))
        #expect(queue.takeReads().operations.count == 1)
        #expect(refused.withLock { $0 } == [2, 3])
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
