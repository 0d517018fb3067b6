import AppAttest
import Bytes
import GatewayTesting
import KeyStore
import PostgresKeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// Registries of earlier versions, brought up to date with their keys.
@Suite("Registries of earlier versions", .timeLimit(.minutes(10)))
final class RegistryMigrationTests {
    var generator = SeededGenerator(seed: 31)

    /// What version 1 kept: an active and a revoked key with a receipt, and one without.
    private func records() -> [KeyRecord] {
        var records = (0..<3).map { _ in generator.record(appID: "ABCDE12345.com.example.app") }
        for number in 0..<2 { records[number].receipt = [UInt8(number), 2, 3] }
        records[1].status = .revoked
        return records.sorted { $0.keyID.digest < $1.keyID.digest }
    }

    /// Nobody has read the receipts: an active key's is due at once.
    private func migrated(_ records: [KeyRecord]) -> [KeyRecord] {
        records.map { record in
            var record = record
            if record.receipt != nil {
                record.receiptState = ReceiptState(
                    dueAt: record.status == .active ? record.enrolledAt : nil)
            }
            return record
        }
    }

    /// Without the one of ``RegistryVersions``.
    private func exported(_ registry: any RegistryAdministration) throws -> [KeyRecord] {
        var records: [KeyRecord] = []
        try registry.export(KeyFilter()) { (record) throws(StoreError) in
            if record.bundleVersion == nil { records.append(record) }
        }
        return records
    }

    @Test("an SQLite file of version 1 keeps its keys, whose receipts are due")
    func sqlite() throws {
        let directory = try TemporaryDirectory()
        let records = records()
        try DatabaseFile.create(path: directory.registryPath) { connection throws(SQLiteError) in
            try connection.execute(RegistryVersions.sqlite1)
            for record in records {
                let key = Hex.encode(record.keyID.digest.array)
                let point = Hex.encode(record.publicKey.stored)
                try connection.execute(
                    """
                    INSERT INTO keys VALUES (x'\(key)', x'\(point)', 1, 0, \(record.status.code),
                        0, \(record.enrolledAt), NULL, NULL)
                    """)
                guard let receipt = record.receipt else { continue }
                try connection.execute(
                    "INSERT INTO receipts VALUES (x'\(key)', x'\(Hex.encode(receipt))')")
            }
        }
        let registry = try SQLiteRegistry(path: directory.registryPath)
        for record in records {
            #expect(try registry.find(record.keyID) == record.withoutReceipt)
        }
        registry.close()
        let administration = try SQLiteAdministration(path: directory.registryPath)
        #expect(try exported(administration) == migrated(records))
        let connection = try Connection(path: directory.registryPath)
        #expect(try connection.integer("PRAGMA user_version") == 3)
    }

    @Test(
        "a PostgreSQL schema of version 1 keeps its keys, whose receipts are due",
        .enabled(if: PostgresServer.isInstalled))
    func postgres() throws {
        let fixture = try PostgresFixture()
        let records = records()
        try fixture.query(RegistryVersions.postgres1)
        for record in records {
            let receipt = record.receipt.map { "'\\x\(Hex.encode($0))'" } ?? "NULL"
            try fixture.query(
                """
                INSERT INTO sallyport.keys VALUES ('\\x\(Hex.encode(record.keyID.digest.array))',
                    '\\x\(Hex.encode(record.publicKey.stored))', '\(record.appID)', 0,
                    \(record.status.code), 0, \(record.enrolledAt), NULL, NULL, \(receipt))
                """)
        }
        let registry = try fixture.registry()
        for record in records {
            #expect(try registry.find(record.keyID) == record.withoutReceipt)
        }
        registry.close()
        #expect(try exported(fixture.administration()) == migrated(records))
        #expect(try fixture.query("SELECT version FROM sallyport.registry") == "3")
    }
}
