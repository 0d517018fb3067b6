import Attestation
import Bytes
import Crypto
import EventLoop
import GatewayTesting
import KeyStore
import PostgresKeyStore
import Testing

@Suite(
    "The PostgreSQL registry", .enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(30)))
final class PostgresRegistryTests {
    let fixture: PostgresFixture
    var generator = SeededGenerator(seed: 11)

    init() throws { fixture = try PostgresFixture() }
}

extension PostgresRegistryTests {
    @Test("an enrolled key is found with everything, also after a restart")
    func enrolAndFind() throws {
        var record = generator.record()
        record.environment = .development
        record.bundleVersion = "1.2.3"
        record.validationCategory = .max
        record.counterFloor = .max
        record.addReceipt((0..<9000).map { UInt8(truncatingIfNeeded: $0 &* 7) }, metric: .max)
        let unknown = generator.keyID()
        do {
            let registry = try fixture.registry()
            #expect(try registry.find(record.keyID) == nil)
            #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
            #expect(try registry.find(record.keyID) == record.withoutReceipt)
            registry.close()
        }
        let again = try fixture.registry()
        #expect(try again.find(record.keyID) == record.withoutReceipt)
        #expect(try fixture.administration().find(record.keyID) == record)
        #expect(try again.find(unknown) == nil)
        try again.probe()
        again.close()
        #expect(throws: StoreError("registry: closed")) { try again.find(unknown) }
    }

    @Test("one challenge enrols one key, and enrolling again is harmless")
    func challengeOnce() throws {
        let registry = try fixture.registry()
        let challenge = generator.bytes16()
        let first = generator.record()
        let second = generator.record()
        #expect(try registry.enrol(first, challenge: challenge) == .enrolled)
        #expect(try registry.enrol(second, challenge: challenge) == .challengeSpent)
        #expect(try registry.find(second.keyID) == nil)
        #expect(try registry.enrol(first, challenge: challenge) == .alreadyEnrolled)
        #expect(try registry.enrol(first, challenge: generator.bytes16()) == .alreadyEnrolled)
        #expect(try registry.enrol(second, challenge: generator.bytes16()) == .enrolled)
        #expect(try fixture.query("SELECT count(*) FROM sallyport.challenges") == "2")
        registry.close()
    }

    @Test("a known key id with another public key is refused")
    func otherPublicKey() throws {
        let registry = try fixture.registry()
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

    @Test("revoked and erased keys do not enrol again, and leave a tombstone")
    func doesNotEnrolAgain() throws {
        let registry = try fixture.registry()
        var revoked = generator.record()
        var erased = generator.record()
        revoked.addReceipt([4, 5, 6])
        erased.addReceipt([1, 2, 3])
        erased.counterFloor = 9
        for record in [revoked, erased] {
            #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        }
        let administration = try fixture.administration()
        #expect(try administration.revoke([revoked.keyID]) == [.done])
        #expect(try administration.erase([erased.keyID, erased.keyID]) == [.done, .unchanged])
        #expect(try registry.enrol(revoked, challenge: generator.bytes16()) == .revoked)
        #expect(try registry.enrol(erased, challenge: generator.bytes16()) == .erased)
        revoked.status = .revoked
        revoked.receiptState?.dueAt = nil
        #expect(try administration.find(revoked.keyID) == revoked)
        #expect(try registry.find(revoked.keyID) == revoked.withoutReceipt)
        let tombstone = try administration.find(erased.keyID)
        #expect(tombstone?.status == .erased)
        #expect(tombstone?.counterFloor == 9)
        #expect(tombstone?.receipt == nil && tombstone?.receiptState == nil)
        #expect(tombstone?.riskMetric == nil)
        #expect(tombstone?.appID == "")
        registry.close()
    }

    @Test("a durable counter only rises, and only for active keys")
    func durable() throws {
        let registry = try fixture.registry()
        let record = generator.record()
        #expect(try registry.advance(record.keyID, 1) == .unknownKey)
        _ = try registry.enrol(record, challenge: generator.bytes16())
        #expect(try registry.advance(record.keyID, 0) == .replayed)
        #expect(try registry.advance(record.keyID, 5) == .advanced)
        #expect(try registry.advance(record.keyID, 5) == .replayed)
        #expect(try registry.advance(record.keyID, 4) == .replayed)
        #expect(try registry.advance(record.keyID, .max) == .advanced)
        #expect(try registry.find(record.keyID)?.counterFloor == .max)
        #expect(try fixture.administration().revoke([record.keyID]) == [.done])
        #expect(try registry.advance(record.keyID, .max) == .revoked)
        registry.close()
    }

    @Test("floors are raised, never lowered, and survive a close")
    func floors() throws {
        let registry = try fixture.registry()
        let records = (0..<700).map { _ in generator.record() }
        let replies = records.map { record in
            let reply = Reply<Result<EnrolmentOutcome, StoreError>>()
            registry.enrol(record, challenge: generator.bytes16()) { reply.give($0) }
            return reply
        }
        for reply in replies { #expect(reply.wait() == .success(.enrolled)) }
        registry.raiseFloors(records.map { ($0.keyID, 7) }) { _ in }
        registry.raiseFloors([(records[0].keyID, 3)]) { _ in }
        registry.close()
        #expect(
            try fixture.query("SELECT counter, count(*) FROM sallyport.keys GROUP BY 1") == "7|700")
    }

    @Test("of two gateways that accept one counter, one does")
    func racingCounters() throws {
        let gateways = [try fixture.registry(), try fixture.registry()]
        let records = (0..<20).map { _ in generator.record() }
        for record in records {
            _ = try gateways[0].enrol(record, challenge: generator.bytes16())
        }
        var replies: [Reply<Result<DurableOutcome, StoreError>>] = []
        for counter in UInt32(1)...10 {
            for record in records {
                for gateway in gateways {
                    let reply = Reply<Result<DurableOutcome, StoreError>>()
                    gateway.advanceDurably(record.keyID, counter: counter) { reply.give($0) }
                    replies.append(reply)
                }
            }
        }
        let outcomes = replies.map { $0.wait() }
        for pair in 0..<(outcomes.count / 2) {
            let both = [outcomes[2 * pair], outcomes[2 * pair + 1]]
            let accepted = both.count { $0 == .success(.advanced) }
            // A later counter may have been accepted first at the other gateway.
            #expect(accepted <= 1)
            #expect(both.allSatisfy { $0 == .success(.advanced) || $0 == .success(.replayed) })
        }
        for record in records { #expect(try gateways[1].find(record.keyID)?.counterFloor == 10) }
        for gateway in gateways { gateway.close() }
    }

    @Test("two gateways that enrol the same keys and challenges at once agree")
    func racingEnrolments() throws {
        let gateways = [try fixture.registry(), try fixture.registry()]
        let records = (0..<100).map { _ in generator.record() }
        let challenges = (0..<60).map { _ in generator.bytes16() }
        var replies: [(Int, Reply<Result<EnrolmentOutcome, StoreError>>)] = []
        for (index, record) in records.enumerated() {
            for (side, gateway) in gateways.enumerated() {
                let reply = Reply<Result<EnrolmentOutcome, StoreError>>()
                let challenge = challenges[(index + side * 7) % challenges.count]
                gateway.enrol(record, challenge: challenge) { reply.give($0) }
                replies.append((index, reply))
            }
        }
        var enrolled: [Int: Int] = [:]
        for (index, reply) in replies {
            switch reply.wait() {
            case .success(.enrolled): enrolled[index, default: 0] += 1
            case .success(.alreadyEnrolled), .success(.challengeSpent): break
            case let other: Issue.record("\(String(describing: other))")
            }
        }
        #expect(enrolled.values.allSatisfy { $0 == 1 })
        #expect(
            try fixture.query("SELECT count(*) FROM sallyport.keys") == "\(enrolled.count)")
        // Each key has the challenge it spent, and no challenge two keys.
        let spent = try fixture.query(
            "SELECT count(*) FROM sallyport.keys JOIN sallyport.challenges USING (key_id)")
        #expect(spent == "\(enrolled.count)")
        for gateway in gateways { gateway.close() }
    }

    @Test("one write that the server refuses does not take its neighbours along")
    func neighbours() throws {
        let registry = try fixture.registry { $0.poolCount = 1 }
        var records = (0..<20).map { _ in generator.record() }
        // PostgreSQL takes no NUL in a text.
        records[7].bundleVersion = "1\u{0}2"
        let replies = records.map { record in
            let reply = Reply<Result<EnrolmentOutcome, StoreError>>()
            registry.enrol(record, challenge: generator.bytes16()) { reply.give($0) }
            return reply
        }
        for (index, reply) in replies.enumerated() {
            guard index == 7 else {
                #expect(reply.wait() == .success(.enrolled))
                continue
            }
            guard case .failure(let error) = reply.wait() else {
                Issue.record("a text with NUL was taken")
                continue
            }
            #expect(error.description.contains("22021"))
        }
        registry.close()
    }

    @Test("more than may wait is refused at once")
    func bounded() throws {
        let registry = try fixture.registry { $0.queueCountMax = 5 }
        let replies = (0..<200).map { _ in
            let reply = Reply<Result<KeyRecord?, StoreError>>()
            registry.find(generator.keyID()) { reply.give($0) }
            return reply
        }
        let refused = replies.count { reply in
            if case .failure(let error) = reply.wait() {
                return error.description.contains("too many")
            }
            return false
        }
        #expect(refused > 0)
        registry.close()
    }
}
