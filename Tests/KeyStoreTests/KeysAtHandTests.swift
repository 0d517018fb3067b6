import Attestation
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// Keys that a registry reads on the caller's thread.
@Suite("Keys at hand", .enabled(if: SystemMemory.isTold))
final class KeysAtHandTests {
    private let directory: TemporaryDirectory
    private let registry: SQLiteRegistry
    private var generator = SeededGenerator(seed: 84)

    init() throws {
        directory = try TemporaryDirectory()
        registry = try SQLiteRegistry(path: directory.registryPath)
    }
}

extension KeysAtHandTests {
    private func enrolled() throws -> KeyRecord { try registry.enrolAny(&generator) }

    /// The reader has its connection itself for a moment now and then.
    private func readAtHand(_ keyIDs: [KeyID]) -> [KeyAtHand] {
        let limit = ChildProcess.deadline
        while true {
            let found = registry.readAtHand(keyIDs)
            if !found.contains(.notAtHand) || Date() > limit { return found }
            _ = poll(nil, 0, 1)
        }
    }

    @Test("records and unknown keys are told as a look-up tells them, in their order")
    func told() throws {
        let records = [try enrolled(), try enrolled()]
        let unknown = generator.keyID()
        let found = readAtHand([records[1].keyID, unknown, records[0].keyID])
        #expect(
            found == [
                .read(records[1].withoutReceipt), .read(nil), .read(records[0].withoutReceipt),
            ])
        #expect(registry.readAtHand([]) == [] && registry.hasKeysAtHand)
        registry.close()
        #expect(registry.readAtHand([unknown]) == [.notAtHand])
    }

    @Test("a change by another process is seen as soon as it is made")
    func changes() throws {
        let record = try enrolled()
        #expect(readAtHand([record.keyID]) == [.read(record.withoutReceipt)])
        let administration = try SQLiteAdministration(path: directory.registryPath)
        #expect(try administration.revoke([record.keyID]) == [.done])
        guard case .read(let revoked) = readAtHand([record.keyID])[0] else {
            Issue.record("not at hand")
            return
        }
        #expect(revoked?.status == .revoked)
        registry.close()
    }

    @Test("keys are at hand while another process holds the write lock")
    func locked() throws {
        let record = try enrolled()
        let other = try Connection(path: directory.registryPath)
        try other.begin(.immediate)
        #expect(readAtHand([record.keyID]) == [.read(record.withoutReceipt)])
        other.rollback()
        registry.close()
    }

    @Test("nothing is at hand of a file that is gone, nor of another until it is opened")
    func moved() throws {
        let record = try enrolled()
        let away = directory.path + "/away.db"
        try FileManager.default.moveItem(atPath: directory.registryPath, toPath: away)
        #expect(registry.readAtHand([record.keyID]) == [.notAtHand])
        #expect(throws: StoreError.self) { try registry.find(record.keyID) }
        #expect(registry.readAtHand([record.keyID]) == [.notAtHand])
        try FileManager.default.moveItem(atPath: away, toPath: directory.registryPath)
        #expect(try registry.find(record.keyID) == record.withoutReceipt)
        #expect(readAtHand([record.keyID]) == [.read(record.withoutReceipt)])
        registry.close()
    }

    @Test("many threads read at hand, ask and enrol at once, and each learns the truth")
    func together() throws {
        let registry = registry
        let records = try (0..<20).map { _ in try enrolled() }
        let newcomers = (0..<200).map { _ in (generator.record(), generator.bytes16()) }
        let readCount = Locked(0)
        let wrong = Locked<[KeyAtHand]>([])
        let isOver = Locked(false)
        let threads = try (0..<3).map { number in
            try Thread.spawn(name: "reader") {
                while !isOver.withLock({ $0 }) {
                    for (key, record) in zip(registry.readAtHand(records.map(\.keyID)), records) {
                        switch key {
                        case .read(record.withoutReceipt): readCount.withLock { $0 += 1 }
                        case .notAtHand: break
                        case .read: wrong.withLock { $0.append(key) }
                        }
                    }
                    if number == 0 { _ = try? registry.find(records[0].keyID) }
                }
            }
        }
        for (record, challenge) in newcomers {
            #expect(try registry.enrol(record, challenge: challenge) == .enrolled)
            // Nobody else may have the connection for ever.
            #expect(try registry.find(record.keyID) == record.withoutReceipt)
        }
        isOver.withLock { $0 = true }
        for thread in threads { thread.join() }
        #expect(wrong.withLock { $0 } == [])
        #expect(readCount.withLock { $0 } > 0)
        registry.close()
    }

    @Test("after a miss nothing is tried for a hundred times as long as it took")
    func budget() {
        let start = MonotonicInstant(nanoseconds: 5_000_000_000)
        let budget = HurryBudget()
        #expect(budget.allows(at: start))
        let end = start.advanced(byNanoseconds: 1_000_000)
        budget.miss(from: start, to: end)
        #expect(!budget.allows(at: end.advanced(byNanoseconds: 99_999_999)))
        #expect(budget.allows(at: end.advanced(byNanoseconds: 100_000_000)))
        budget.giveUpFile()
        #expect(!budget.allows(at: end.advanced(byNanoseconds: 1 << 62)))
        budget.fileWasOpened()
        #expect(budget.allows(at: end))
    }
}

@Suite("A registry on a file system that does not tell what is in memory")
struct KeysNotAtHandTests {}

extension KeysNotAtHandTests {
    @Test("answers as always, and offers nothing once it has noticed")
    func answers() throws {
        guard !SystemMemory.isTold(in: "/dev/shm") else { return }
        var generator = SeededGenerator(seed: 85)
        let path = "/dev/shm/sallyport-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let registry = try SQLiteRegistry(path: path + "/registry.db")
        let record = generator.record()
        #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        let limit = ChildProcess.deadline
        while registry.hasKeysAtHand, Date() < limit {
            #expect(registry.readAtHand([record.keyID]) == [.notAtHand])
        }
        #expect(!registry.hasKeysAtHand)
        #expect(try registry.find(record.keyID) == record.withoutReceipt)
        registry.close()
    }
}
