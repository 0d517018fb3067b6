import Attestation
import Bytes
import Crypto
import EventLoop
import Foundation
import KeyStore
import SQLite
import SQLiteKeyStore
import Testing

@Suite("The SQLite registry")
final class SQLiteRegistryTests {
    let directory: TemporaryDirectory
    var generator = SeededGenerator(seed: 7)

    init() throws { directory = try TemporaryDirectory() }
}

extension SQLiteRegistryTests {
    private func registry(
        _ change: (inout SQLiteRegistry.Options) -> Void = { _ in }
    ) throws -> SQLiteRegistry {
        var options = SQLiteRegistry.Options()
        change(&options)
        return try SQLiteRegistry(path: directory.registryPath, options: options)
    }

    @Test("an enrolled key is found with everything, also after a restart")
    func enrolAndFind() throws {
        var record = generator.record()
        record.environment = .development
        record.bundleVersion = "1.2.3"
        record.validationCategory = 3
        record.addReceipt((0..<5000).map { UInt8(truncatingIfNeeded: $0) }, metric: .max)
        let unknown = generator.keyID()
        do {
            let registry = try registry()
            #expect(try registry.find(record.keyID) == nil)
            #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
            #expect(try registry.find(record.keyID) == record.withoutReceipt)
            registry.close()
        }
        let again = try registry()
        #expect(try again.find(record.keyID) == record.withoutReceipt)
        let administration = try SQLiteAdministration(path: directory.registryPath)
        #expect(try administration.find(record.keyID) == record)
        #expect(try again.find(unknown) == nil)
        try again.probe()
        again.close()
    }

    @Test("one challenge enrols one key")
    func challengeOnce() throws {
        let registry = try registry()
        let challenge = generator.bytes16()
        let first = generator.record()
        let second = generator.record()
        #expect(try registry.enrol(first, challenge: challenge) == .enrolled)
        #expect(try registry.enrol(second, challenge: challenge) == .challengeSpent)
        #expect(try registry.find(second.keyID) == nil)
        #expect(try registry.enrol(first, challenge: challenge) == .alreadyEnrolled)
        #expect(try registry.enrol(second, challenge: generator.bytes16()) == .enrolled)
        registry.close()
    }

    @Test("a known key id with another public key is refused")
    func otherPublicKey() throws {
        let registry = try registry()
        let record = generator.record()
        var other = record
        other.publicKey = P256PublicKey(x: generator.bytes32(), y: generator.bytes32())
        #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        #expect(throws: StoreError.self) {
            try registry.enrol(other, challenge: self.generator.bytes16())
        }
        #expect(try registry.find(record.keyID) == record)
        registry.close()
    }

    @Test("revoked and erased keys do not enrol again")
    func doesNotEnrolAgain() throws {
        let registry = try registry()
        let revoked = generator.record()
        let erased = generator.record()
        for record in [revoked, erased] {
            #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        }
        let administration = try SQLiteAdministration(path: directory.registryPath)
        #expect(try administration.revoke([revoked.keyID]) == [.done])
        #expect(try administration.erase([erased.keyID]) == [.done])
        #expect(try registry.enrol(revoked, challenge: generator.bytes16()) == .revoked)
        #expect(try registry.enrol(erased, challenge: generator.bytes16()) == .erased)
        #expect(try registry.find(revoked.keyID)?.status == .revoked)
        #expect(try registry.find(erased.keyID)?.status == .erased)
        registry.close()
    }

    @Test("a durable counter only rises, and only for active keys")
    func durable() throws {
        let registry = try registry()
        let record = generator.record()
        #expect(try registry.advance(record.keyID, 1) == .unknownKey)
        _ = try registry.enrol(record, challenge: generator.bytes16())
        #expect(try registry.advance(record.keyID, 0) == .replayed)
        #expect(try registry.advance(record.keyID, 5) == .advanced)
        #expect(try registry.advance(record.keyID, 5) == .replayed)
        #expect(try registry.advance(record.keyID, 4) == .replayed)
        #expect(try registry.advance(record.keyID, .max) == .advanced)
        #expect(try registry.find(record.keyID)?.counterFloor == .max)
        let administration = try SQLiteAdministration(path: directory.registryPath)
        #expect(try administration.revoke([record.keyID]) == [.done])
        #expect(try registry.advance(record.keyID, .max) == .revoked)
        registry.close()
    }

    @Test("many writers at once: each gets its own outcome, one durable counter one winner")
    func groupCommit() throws {
        let registry = try registry()
        let records = (0..<200).map { _ in generator.record() }
        let shared = generator.bytes16()
        let outcomes = Locked<[EnrolmentOutcome: Int]>([:])
        let done = Reply<Bool>()
        for (number, record) in records.enumerated() {
            // Every tenth answers the same challenge: one of them wins.
            let challenge = number % 10 == 0 ? shared : generator.bytes16()
            registry.enrol(record, challenge: challenge) { result in
                let count = outcomes.withLock { outcomes in
                    if case .success(let outcome) = result { outcomes[outcome, default: 0] += 1 }
                    return outcomes.values.reduce(0, +)
                }
                if count == 200 { done.give(true) }
            }
        }
        #expect(done.wait() == true)
        #expect(outcomes.withLock { $0 } == [.enrolled: 181, .challengeSpent: 19])
        registry.close()
    }

    @Test("one bad write does not fail its neighbours")
    func oneBadWrite() throws {
        let registry = try registry()
        let known = generator.record()
        _ = try registry.enrol(known, challenge: generator.bytes16())
        // A trigger stands for a defect that only one of the writes meets.
        let bad = generator.record(appID: "bad")
        let connection = try Connection(path: directory.registryPath)
        try connection.execute(
            """
            CREATE TRIGGER refuse BEFORE INSERT ON receipts
            BEGIN SELECT RAISE(ABORT, 'refused'); END
            """)
        var broken = bad
        broken.receipt = [1]
        let good = (0..<20).map { _ in generator.record(appID: "bad") }
        let replies = (0..<21).map { _ in Reply<Result<EnrolmentOutcome, StoreError>>() }
        for (number, record) in (good.prefix(10) + [broken] + good.suffix(10)).enumerated() {
            let reply = replies[number]
            registry.enrol(record, challenge: generator.bytes16()) { reply.give($0) }
        }
        for (number, reply) in replies.enumerated() {
            if number == 10 {
                #expect(throws: StoreError.self) { try reply.wait()?.get() }
            } else {
                #expect(try reply.wait()?.get() == .enrolled)
            }
        }
        #expect(try registry.find(broken.keyID) == nil)
        for record in good { #expect(try registry.find(record.keyID) == record) }
        registry.close()
    }

    @Test("a full file refuses enrolments, keeps answering, and takes them again with room")
    func fullDisk() throws {
        let limit = 256 * 1024
        let registry = try registry { $0.fileByteCountMax = limit }
        var stored: [KeyRecord] = []
        var failure: StoreError?
        while failure == nil, stored.count < 1000 {
            var record = generator.record()
            record.receipt = [UInt8](repeating: 1, count: 6000)
            do {
                #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
                stored.append(record)
            } catch let error as StoreError {
                failure = error
            }
        }
        #expect(failure?.description.contains("full") == true)
        #expect(stored.count > 10)
        for record in stored {
            #expect(try registry.find(record.keyID) == record.withoutReceipt)
        }
        try registry.probe()
        let administration = try SQLiteAdministration(path: directory.registryPath)
        _ = try administration.erase(stored.prefix(10).map(\.keyID))
        let late = generator.record()
        #expect(try registry.enrol(late, challenge: generator.bytes16()) == .enrolled)
        registry.close()
    }

    @Test("a lock held by another process is an error, and service resumes after it")
    func lockedByOther() throws {
        let registry = try registry { $0.busyMillisecondsMax = 20 }
        let known = generator.record()
        _ = try registry.enrol(known, challenge: generator.bytes16())
        let other = try Connection(path: directory.registryPath)
        try other.begin(.immediate)
        let record = generator.record()
        let error = #expect(throws: StoreError.self) {
            try registry.enrol(record, challenge: self.generator.bytes16())
        }
        #expect(error?.description.contains("another process") == true)
        #expect(try registry.find(known.keyID) == known)
        other.rollback()
        #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        registry.close()
    }

    @Test("more requests than may wait are refused at once; closing answers what waits")
    func boundedQueue() throws {
        let registry = try registry {
            $0.queueCountMax = 4
            $0.busyMillisecondsMax = 10_000
        }
        let other = try Connection(path: directory.registryPath)
        try other.begin(.immediate)
        // Of writes twice as many may wait as of look-ups. The thread holds a first batch, of at
        // most eight, while it waits for the lock; eight more fit behind it.
        let outcomes = Locked<(answered: Int, refused: Int)>((0, 0))
        let refused = Reply<Bool>()
        for _ in 0..<40 {
            registry.enrol(generator.record(), challenge: generator.bytes16()) { result in
                outcomes.withLock { outcomes in
                    outcomes.answered += 1
                    if case .failure = result {
                        outcomes.refused += 1
                        refused.give(true)
                    }
                }
            }
        }
        #expect(refused.wait() == true)
        other.rollback()
        registry.close()
        let (answered, refusedCount) = outcomes.withLock { $0 }
        #expect(answered == 40)
        #expect(refusedCount >= 40 - 16)
        #expect(throws: StoreError.self) { try registry.find(self.generator.keyID()) }
    }

    @Test("floors are raised lazily, never lowered")
    func floors() throws {
        let registry = try registry()
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        registry.raiseFloors([(record.keyID, 9), (generator.keyID(), 4)]) { _ in }
        registry.raiseFloors([(record.keyID, 7)]) { _ in }
        // Closing writes what waits.
        registry.close()
        let administration = try SQLiteAdministration(path: directory.registryPath)
        #expect(try administration.find(record.keyID)?.counterFloor == 9)
    }

    @Test("a removed file is an error, never a new registry; put back, service resumes")
    func removedFile() throws {
        let registry = try registry()
        let record = generator.record()
        _ = try registry.enrol(record, challenge: generator.bytes16())
        let aside = directory.path + "/aside.db"
        try FileManager.default.moveItem(atPath: directory.registryPath, toPath: aside)
        #expect(throws: StoreError.self) { try registry.find(record.keyID) }
        #expect(throws: StoreError.self) {
            try registry.enrol(self.generator.record(), challenge: self.generator.bytes16())
        }
        #expect(!directory.names.contains("registry.db"))
        // Its log was written back when the connection closed, so it is whole.
        try FileManager.default.moveItem(atPath: aside, toPath: directory.registryPath)
        #expect(try registry.find(record.keyID) == record)
        registry.close()
    }
}
