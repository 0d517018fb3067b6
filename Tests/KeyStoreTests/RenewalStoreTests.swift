import Attestation
import Bytes
import Crypto
import EventLoop
import GatewayTesting
import KeyStore
import Postgres
import PostgresKeyStore
import SQLiteKeyStore
import Testing

/// Receipts that are due, and what is written about them, in both registries.
@Suite("Receipts in a registry", .timeLimit(.minutes(30)))
final class RenewalStoreTests {
    private static let now: Int64 = 1_790_000_000
    private static let group = ReceiptGroup(
        appID: "ABCDE12345.com.example.app", environment: .production)

    private var generator = SeededGenerator(seed: 41)
}

extension RenewalStoreTests {
    /// An active key whose receipt is due at `now` plus `offset`.
    private func record(
        _ offset: Int64?, appID: String = group.appID,
        environment: AttestEnvironment = .production
    ) -> KeyRecord {
        var record = generator.record(appID: appID)
        record.environment = environment
        record.addReceipt([1, 2, 3], metric: 4)
        record.receiptState?.dueAt = offset.map { Self.now + $0 }
        return record
    }

    private func enrol(_ records: [KeyRecord], _ registry: any Registry) throws {
        for record in records {
            #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        }
    }

    private func due(
        _ registry: any Registry, group: ReceiptGroup = group, countMax: Int = 100
    ) throws -> [DueReceipt] {
        let reply = Reply<Result<[DueReceipt], StoreError>>()
        let query = DueReceiptQuery(group: group, dueBy: Self.now, countMax: countMax)
        registry.dueReceipts(query) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }

    private func backlog(_ registry: any Registry) throws -> ReceiptBacklog {
        let reply = Reply<Result<ReceiptBacklog, StoreError>>()
        registry.receiptBacklog(Self.group, now: Self.now) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }

    private func store(
        _ writes: [RenewalWrite], term: Int64, _ registry: any Registry
    ) throws -> Set<KeyID> {
        let reply = Reply<Result<Set<KeyID>, StoreError>>()
        registry.storeRenewals(FencedRenewals(lease: "receipts", term: term, writes: writes)) {
            reply.give($0)
        }
        guard let answer = reply.wait() else { throw NoReply() }
        return try answer.get()
    }

    /// Returns its term.
    private func takeLease(_ registry: any Registry) throws -> Int64 {
        let reply = Reply<Result<SharedOutcome, StoreError>>()
        var write = SharedWrite(name: "receipts", value: [1], expected: nil, lifetime: .zero)
        write.takesExpired = true
        registry.writeShared(write) { reply.give($0) }
        guard let answer = reply.wait() else { throw NoReply() }
        return try #require(try answer.get().reading.entry).term
    }

    private func write(_ due: DueReceipt, metric: UInt32?, isNews: Bool) -> RenewalWrite {
        RenewalWrite(
            keyID: due.keyID, dueAt: due.dueAt, receipt: metric.map { _ in [9, 9] },
            riskMetric: metric, isNews: isNews,
            state: ReceiptState(
                kind: .receipt, createdAt: Self.now, notBefore: Self.now + 86_400,
                expiresAt: Self.now + 7_776_000, dueAt: Self.now + 90_000,
                lastOutcome: metric == nil ? .notFound : .renewed, attemptedAt: Self.now,
                failureCount: metric == nil ? 1 : 0))
    }

    @Test(
        "the oldest that are due come first, of one app and environment",
        arguments: RegistryKind.installed)
    func oldestFirst(_ store: RegistryKind) throws {
        let fixture = try RegistryFixture(store)
        defer { withExtendedLifetime(fixture) {} }
        let registry = try fixture.registry()
        let records = [record(-5), record(-300), record(0), record(-40)]
        let others = [
            record(1), record(nil), record(-900, appID: "ABCDE12345.other"),
            record(-800, environment: .development), generator.record(),
        ]
        try enrol(records + others, registry)
        let found = try due(registry)
        #expect(
            found.map(\.keyID) == [records[1], records[3], records[0], records[2]].map(\.keyID))
        let first = try #require(found.first)
        #expect(first.publicKey == records[1].publicKey && first.receipt == [1, 2, 3])
        #expect(first.state == records[1].receiptState && first.riskMetric == 4)
        #expect(first.dueAt == Self.now - 300 && first.group == Self.group)
        #expect(try due(registry, countMax: 2) == Array(found.prefix(2)))
        let development = ReceiptGroup(
            appID: Self.group.appID, environment: .development)
        #expect(try due(registry, group: development).map(\.keyID) == [others[3].keyID])
        let unknown = ReceiptGroup(appID: "ABCDE12345.none", environment: .production)
        #expect(try due(registry, group: unknown).isEmpty)
        #expect(
            try backlog(registry) == ReceiptBacklog(dueCount: 4, firstDueAt: Self.now - 300))
        registry.close()
    }

    @Test("keys that are revoked or erased are not due any more", arguments: RegistryKind.installed)
    func notActive(_ store: RegistryKind) throws {
        let fixture = try RegistryFixture(store)
        defer { withExtendedLifetime(fixture) {} }
        let registry = try fixture.registry()
        let records = [record(-1), record(-2), record(-3)]
        try enrol(records, registry)
        let read = try due(registry)
        let administration = try fixture.administration()
        _ = try administration.revoke([records[0].keyID])
        _ = try administration.erase([records[1].keyID])
        #expect(try due(registry).map(\.keyID) == [records[2].keyID])
        // What was under way for them is not kept either.
        let term = try takeLease(registry)
        let writes = read.map { write($0, metric: 8, isNews: true) }
        #expect(try self.store(writes, term: term, registry) == [records[2].keyID])
        let revoked = try #require(try administration.find(records[0].keyID))
        #expect(revoked.receipt == [1, 2, 3] && revoked.riskMetric == 4)
        let erased = try #require(try administration.find(records[1].keyID))
        #expect(erased.receipt == nil && erased.riskMetric == nil && erased.receiptState == nil)
        registry.close()
    }

    @Test("a renewal is kept whole, and once", arguments: RegistryKind.installed)
    func kept(_ store: RegistryKind) throws {
        let fixture = try RegistryFixture(store)
        defer { withExtendedLifetime(fixture) {} }
        let registry = try fixture.registry()
        let records = [record(-1), record(-2), record(-3)]
        try enrol(records, registry)
        let read = try due(registry)
        let term = try takeLease(registry)
        let writes = [
            write(read[0], metric: 8, isNews: true), write(read[1], metric: nil, isNews: false),
        ]
        let keys = Set(writes.map(\.keyID))
        #expect(try self.store(writes, term: term, registry) == keys)
        #expect(try self.store(writes, term: term, registry).isEmpty)
        #expect(try due(registry).map(\.keyID) == [read[2].keyID])
        let administration = try fixture.administration()
        let renewed = try #require(try administration.find(read[0].keyID))
        #expect(renewed.receipt == [9, 9] && renewed.riskMetric == 8)
        #expect(renewed.receiptState == writes[0].state)
        #expect(try registry.find(read[0].keyID)?.riskMetric == 8)
        let refused = try #require(try administration.find(read[1].keyID))
        #expect(refused.receipt == [1, 2, 3] && refused.riskMetric == 4)
        #expect(refused.receiptState == writes[1].state)
        registry.close()
    }

    @Test("who has lost the lease writes nothing", arguments: RegistryKind.installed)
    func fenced(_ store: RegistryKind) throws {
        let fixture = try RegistryFixture(store)
        defer { withExtendedLifetime(fixture) {} }
        let registry = try fixture.registry()
        try enrol([record(-1)], registry)
        let read = try due(registry)
        let writes = read.map { write($0, metric: 8, isNews: true) }
        #expect(try self.store(writes, term: 1, registry).isEmpty)
        let first = try takeLease(registry)
        let second = try takeLease(registry)
        #expect(second > first)
        #expect(try self.store(writes, term: first, registry).isEmpty)
        #expect(try due(registry) == read)
        #expect(try self.store(writes, term: second, registry).count == 1)
        registry.close()
    }

    @Test(
        "an operator makes receipts due, whatever became of them", arguments: RegistryKind.installed
    )
    func ordered(_ store: RegistryKind) throws {
        let fixture = try RegistryFixture(store)
        defer { withExtendedLifetime(fixture) {} }
        let registry = try fixture.registry()
        // Their receipts have a not before a day after the enrolment, which is now.
        let records = [record(nil), record(500_000), record(-5), record(nil), record(nil)]
        try enrol(records, registry)
        let bare = generator.record(appID: Self.group.appID)
        try enrol([bare], registry)
        let administration = try fixture.administration()
        _ = try administration.revoke([records[3].keyID])
        _ = try administration.erase([records[4].keyID])
        let unknown = generator.keyID()
        let notBefore = Self.now + 86_500
        let later = Self.now + 200_000
        let asked = (records + [bare]).map(\.keyID) + [unknown]
        #expect(
            try administration.renewReceipts(of: asked, at: Self.now) == [
                .due(at: notBefore), .due(at: notBefore), .wasDue, .notActive, .notActive,
                .noReceipt, .unknownKey,
            ])
        #expect(
            try administration.renewReceipts(of: Array(asked[..<3]), at: later)
                == [.wasDue, .wasDue, .wasDue])
        let first = try #require(try administration.find(records[0].keyID)?.receiptState)
        #expect(first.dueAt == notBefore && first.failureCount == 0)
        // Why it had ended stays to be seen.
        #expect(first.lastOutcome == records[0].receiptState?.lastOutcome)
        #expect(try due(registry).map(\.keyID) == [records[2].keyID])
        #expect(try administration.find(records[3].keyID)?.receiptState?.dueAt == nil)
        // One that is under way meanwhile was due, so its answer still counts.
        let term = try takeLease(registry)
        let writes = try due(registry).map { write($0, metric: 8, isNews: false) }
        _ = try administration.renewReceipts(of: asked, at: later)
        #expect(try self.store(writes, term: term, registry).count == 1)
        registry.close()
    }

    @Test(
        "caches hear of a new metric, here and in other processes, and of nothing else",
        arguments: RegistryKind.installed)
    func news(_ store: RegistryKind) throws {
        let fixture = try RegistryFixture(store)
        defer { withExtendedLifetime(fixture) {} }
        let registry = try fixture.registry()
        let records = [record(-1), record(-2)]
        try enrol(records, registry)
        let other = try fixture.registry()
        let read = try due(registry)
        #expect(read.map(\.keyID) == [records[1].keyID, records[0].keyID])
        let recorders = [ChangeRecorder(registry), ChangeRecorder(other)]
        // Who begins to listen forgets everything: that is over when this is heard.
        let before = record(nil)
        try enrol([before], registry)
        _ = try fixture.administration().revoke([before.keyID])
        for recorder in recorders { #expect(recorder.wait { !$0.isEmpty }) }
        let term = try takeLease(registry)
        _ = try self.store(
            [write(read[0], metric: 4, isNews: false), write(read[1], metric: 5, isNews: true)],
            term: term, registry)
        for recorder in recorders {
            #expect(recorder.waitForKey(records[0].keyID))
            #expect(
                recorder.wait { changes in
                    changes.allSatisfy { change in
                        if case .keys(let keys) = change {
                            !keys.contains(records[1].keyID)
                        } else {
                            true
                        }
                    }
                })
        }
        registry.close()
        other.close()
    }

    @Test(
        "a revocation and a renewal of one key never wait in a circle",
        .enabled(if: PostgresServer.isInstalled))
    func oneOrder() throws {
        let fixture = try PostgresFixture()
        let registry = try fixture.registry { $0.connection.commandTimeout = .seconds(60) }
        let records = [record(-1), record(-2)].sorted { $0.keyID.digest < $1.keyID.digest }
        try enrol(records, registry)
        let term = try takeLease(registry)
        let read = try due(registry)
        let first = try #require(read.first { $0.keyID == records[0].keyID })
        // The revocation has the first key and waits for the second when the renewal comes.
        let hex = Hex.encode(records[1].keyID.digest.array)
        let holder = try fixture.hold(
            "SELECT FROM sallyport.keys WHERE key_id = '\\x\(hex)' FOR UPDATE")
        let revocation = try fixture.revoking(records.map(\.keyID))
        try fixture.waitForSessions(1, "wait_event_type = 'Lock'")
        let renewal = Reply<Result<Set<KeyID>, StoreError>>()
        registry.storeRenewals(
            FencedRenewals(
                lease: "receipts", term: term, writes: [write(first, metric: 8, isNews: true)])
        ) { renewal.give($0) }
        try fixture.waitForSessions(2, "wait_event_type = 'Lock'")
        try fixture.letGo()
        withExtendedLifetime(holder) {}
        #expect(try revocation.wait()?.get() == [.done, .done])
        #expect(try renewal.wait()?.get() == [])
        registry.close()
    }
}
