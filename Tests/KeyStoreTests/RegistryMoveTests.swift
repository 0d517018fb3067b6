import Attestation
import Bytes
import GatewayTesting
import KeyStore
import PostgresKeyStore
import SQLiteKeyStore
import Testing

/// Keys that move from one registry into another one.
@Suite("Registries by hand", .enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(30)))
final class RegistryMoveTests {
    let fixture: PostgresFixture
    let directory: TemporaryDirectory
    var generator = SeededGenerator(seed: 15)

    init() throws {
        fixture = try PostgresFixture()
        directory = try TemporaryDirectory()
    }
}

extension RegistryMoveTests {
    /// Records of every kind, in the order of their ids.
    private func records(_ count: Int) -> [KeyRecord] {
        (0..<count).map { index in
            var record = generator.record(appID: "ABCDE12345.com.example.app\(index % 3)")
            record.environment = index % 2 == 0 ? .production : .development
            record.counterFloor = index % 5 == 0 ? .max : UInt32(index)
            record.enrolledAt += Int64(index)
            record.bundleVersion = index % 4 == 0 ? "1.\(index) ü" : nil
            record.validationCategory = index % 7 == 0 ? .max : nil
            record.deviceBits = DeviceBits(code: Int64(index % 5))
            if index % 6 == 1 || index % 12 == 3 { record.status = .revoked }
            if index % 3 == 0 { record.addReceipt((0..<4000).map { UInt8(($0 + index) % 256) }) }
            if index % 15 == 0 { record.receiptState = ReceiptState(dueAt: nil) }
            if index % 4 == 1 {
                record.succession = KeySuccession(
                    installation: InstallationID(value: generator.bytes16()),
                    generation: UInt32(index), beganAt: Int64(index),
                    predecessor: index % 8 == 1 ? generator.keyID() : nil,
                    successor: index % 8 == 5 ? generator.keyID() : nil,
                    retiresPredecessor: index % 16 == 1, isRetired: index % 16 == 5)
            }
            if index % 6 == 2 {
                record = KeyRecord(
                    keyID: record.keyID, publicKey: .erased, appID: "", environment: .production,
                    enrolledAt: 0, status: .erased, counterFloor: record.counterFloor)
            }
            return record
        }.sorted { $0.keyID.digest < $1.keyID.digest }
    }

    private func put(
        _ records: [KeyRecord], into registry: any RegistryAdministration
    ) throws -> ImportSummary {
        let batch = registry.beginImport()
        for record in records { try batch.add(record) }
        return try batch.finish()
    }

    private func all(_ registry: any RegistryAdministration) throws -> [KeyRecord] {
        var records: [KeyRecord] = []
        try registry.export(KeyFilter()) { (record) throws(StoreError) in records.append(record) }
        return records
    }

    @Test("SQLite to PostgreSQL and back keeps everything")
    func roundTrip() throws {
        let records = records(1300)
        let sqlite = try SQLiteAdministration(path: directory.registryPath, createsIfMissing: true)
        let postgres = try PostgresAdministration(fixture.configuration(), createsIfMissing: true)
        let again = try SQLiteAdministration(
            path: directory.path + "/again.db", createsIfMissing: true)
        #expect(try put(records, into: sqlite).addedCount == 1300)
        let first = try all(sqlite)
        #expect(first == records)
        #expect(try put(first, into: postgres).addedCount == 1300)
        let second = try all(postgres)
        #expect(second == records)
        #expect(try put(second, into: again).addedCount == 1300)
        #expect(try all(again) == records)
        #expect(try put(records, into: postgres).unchangedCount == 1300)
        #expect(try postgres.counts() == sqlite.counts())
    }

    @Test("both registries answer the same, page by page and filter by filter")
    func sameAnswers() throws {
        let records = records(120)
        let sqlite = try SQLiteAdministration(path: directory.registryPath, createsIfMissing: true)
        let postgres = try PostgresAdministration(fixture.configuration(), createsIfMissing: true)
        let both: [any RegistryAdministration] = [sqlite, postgres]
        for registry in both { _ = try put(records, into: registry) }
        var filters: [KeyFilter] = []
        for status in [nil, KeyStatus.active, .revoked, .erased] {
            for app in [nil, "ABCDE12345.com.example.app1", "none"] {
                for environment in [nil, AttestEnvironment.production, .development] {
                    var filter = KeyFilter()
                    filter.status = status
                    filter.appID = app
                    filter.environment = environment
                    filter.countMax = 7
                    filter.after = records[20].keyID
                    filters.append(filter)
                }
            }
        }
        for filter in filters {
            let pages = try both.map { try $0.list(filter, withReceipts: true) }
            #expect(pages[0] == pages[1])
        }
        let keyIDs = records.prefix(40).map(\.keyID) + [generator.keyID(), records[0].keyID]
        #expect(try sqlite.revoke(keyIDs) == postgres.revoke(keyIDs))
        #expect(
            try sqlite.erase(Array(keyIDs.dropFirst(20)))
                == postgres.erase(Array(keyIDs.dropFirst(20))))
        #expect(try all(sqlite) == all(postgres))
        #expect(try sqlite.find(records[3].keyID) == postgres.find(records[3].keyID))
        #expect(try postgres.find(generator.keyID()) == nil)
    }

    @Test("an import only ever makes a key stricter, and names what it left")
    func stricterOnly() throws {
        var known = (0..<6).map { _ in generator.record() }
        for index in known.indices { known[index].counterFloor = 10 }
        known[3].status = .revoked
        var wanted = known
        wanted[0].counterFloor = 20
        wanted[1].counterFloor = 5
        wanted[2].status = .revoked
        wanted[3].status = .active
        wanted[4].appID = "other"
        wanted[5].status = .erased
        wanted.append(generator.record())
        let sqlite = try SQLiteAdministration(path: directory.registryPath, createsIfMissing: true)
        let postgres = try PostgresAdministration(fixture.configuration(), createsIfMissing: true)
        var results: [(ImportSummary, [KeyID: ImportConflict])] = []
        for registry in [sqlite, postgres] as [any RegistryAdministration] {
            _ = try put(known, into: registry)
            var conflicts: [KeyID: ImportConflict] = [:]
            let batch = registry.beginImport { conflicts[$0] = $1 }
            for record in wanted { try batch.add(record) }
            results.append((try batch.finish(), conflicts))
        }
        #expect(results[0].0 == results[1].0)
        #expect(results[0].1 == results[1].1)
        #expect(results[1].0.addedCount == 1)
        #expect(results[1].0.tightenedCount == 3)
        #expect(
            results[1].1 == [known[3].keyID: .notActive(.revoked), known[4].keyID: .otherApp])
        #expect(try all(sqlite) == all(postgres))
    }

    @Test("no command makes tables but an import")
    func noTables() throws {
        let error = #expect(throws: StoreError.self) { try self.fixture.administration() }
        #expect(error?.description == "registry: there are no tables in schema sallyport")
        #expect(
            try fixture.query("SELECT count(*) FROM pg_namespace WHERE nspname='sallyport'") == "0")
    }
}
