import AppAttest
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// Not every file system tells what it would have to fetch first.
private let keysCanBeAtHand: Bool = {
    guard let directory = try? TemporaryDirectory(),
        let registry = try? SQLiteRegistry(path: directory.registryPath)
    else { return true }
    defer { registry.close() }
    return registry.readAtHand([KeyID(digest: .zero)]) == [.read(nil)]
}()

/// Keys that a registry reads on the caller's thread.
@Suite("Keys at hand", .enabled(if: keysCanBeAtHand))
final class KeysAtHandTests {
    private let directory: TemporaryDirectory
    private let registry: SQLiteRegistry
    private var generator = SeededGenerator(seed: 84)

    init() throws {
        directory = try TemporaryDirectory()
        registry = try SQLiteRegistry(path: directory.registryPath)
    }

    private func enrolled() throws -> KeyRecord {
        let record = generator.record()
        #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        return record
    }

    @Test("records and unknown keys are told as a look-up tells them, in their order")
    func told() throws {
        let records = [try enrolled(), try enrolled()]
        let unknown = generator.keyID()
        let found = registry.readAtHand([records[1].keyID, unknown, records[0].keyID])
        #expect(
            found == [
                .read(records[1].withoutReceipt), .read(nil), .read(records[0].withoutReceipt),
            ])
        #expect(registry.readAtHand([]) == [])
        registry.close()
        #expect(registry.readAtHand([unknown]) == [.notAtHand])
    }

    @Test("a change by another process is seen as soon as it is made")
    func changes() throws {
        let record = try enrolled()
        #expect(registry.readAtHand([record.keyID]) == [.read(record.withoutReceipt)])
        let administration = try SQLiteAdministration(path: directory.registryPath)
        #expect(try administration.revoke([record.keyID]) == [.done])
        guard case .read(let revoked) = registry.readAtHand([record.keyID])[0] else {
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
        #expect(registry.readAtHand([record.keyID]) == [.read(record.withoutReceipt)])
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
        #expect(registry.readAtHand([record.keyID]) == [.read(record.withoutReceipt)])
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
}
