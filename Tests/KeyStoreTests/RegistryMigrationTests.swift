import Attestation
import Bytes
import GatewayTesting
import KeyStore
import PostgresKeyStore
import SQLite
import SQLiteKeyStore
import Testing

/// Registries of earlier versions, brought up to date with their keys.
@Suite("Registries of earlier versions", .timeLimit(.minutes(30)))
final class RegistryMigrationTests {
    var generator = SeededGenerator(seed: 31)
}

extension RegistryMigrationTests {
    /// What version 1 kept: an active and a revoked key with a receipt, and one without.
    private func records() -> [KeyRecord] {
        var records = (0..<3).map { _ in generator.record(appID: "TEAM.app") }
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

    private func exported(_ registry: any RegistryAdministration) throws -> [KeyRecord] {
        var records: [KeyRecord] = []
        try registry.export(KeyFilter()) { (record) throws(StoreError) in records.append(record) }
        return records
    }

    @Test("an SQLite file of version 1 keeps its keys, whose receipts are due")
    func sqlite() throws {
        let directory = try TemporaryDirectory()
        let records = records()
        try DatabaseFile.create(path: directory.registryPath) { connection throws(SQLiteError) in
            try connection.execute(Self.sqliteVersion1)
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
                try connection.execute(
                    "INSERT INTO challenges VALUES (x'\(key.prefix(32))', x'\(key)')")
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
        #expect(try connection.integer("PRAGMA user_version") == EarlierSchema.currentVersion)
        // Spent they stay, without the key that spent them.
        #expect(try connection.integer("SELECT count(*) FROM challenges") == 2)
        #expect(try connection.integer("SELECT count(key_id) FROM challenges") == 0)
        #expect(
            try connection.integer(
                "SELECT count(*) FROM challenges WHERE spent_at > unixepoch() - 86400") == 2)
    }

    @Test(
        "a PostgreSQL schema of version 1 keeps its keys, whose receipts are due",
        .enabled(if: PostgresServer.isInstalled))
    func postgres() throws {
        let fixture = try PostgresFixture()
        let records = records()
        try fixture.query(Self.postgresVersion1)
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
        #expect(
            try fixture.query("SELECT version FROM sallyport.registry")
                == "\(EarlierSchema.currentVersion)")
    }

    private static let sqliteVersion1 = """
        CREATE TABLE apps (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE keys (
            key_id BLOB PRIMARY KEY NOT NULL CHECK (length(key_id) = 32),
            public_key BLOB, app INTEGER NOT NULL, environment INTEGER NOT NULL,
            status INTEGER NOT NULL, counter INTEGER NOT NULL, enrolled_at INTEGER NOT NULL,
            bundle_version TEXT, validation_category INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE challenges (
            challenge BLOB PRIMARY KEY NOT NULL, key_id BLOB
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE receipts (key_id BLOB NOT NULL UNIQUE, receipt BLOB NOT NULL) STRICT;
        CREATE TABLE changes (revision INTEGER PRIMARY KEY, key_id BLOB) STRICT;
        CREATE TABLE embedded_state (part INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
        INSERT INTO apps VALUES (1, 'TEAM.app');
        PRAGMA application_id = \(0x536C_7950);
        PRAGMA user_version = 1;
        """

    private static let postgresVersion1 = """
        CREATE SCHEMA sallyport;
        CREATE TABLE sallyport.registry (
            id boolean PRIMARY KEY DEFAULT true CHECK (id), version integer NOT NULL,
            revision bigint NOT NULL);
        CREATE TABLE sallyport.keys (
            key_id bytea PRIMARY KEY CHECK (octet_length(key_id) = 32),
            public_key bytea CHECK (octet_length(public_key) = 64), app_id text NOT NULL,
            environment smallint NOT NULL, status smallint NOT NULL,
            counter bigint NOT NULL CHECK (counter BETWEEN 0 AND 4294967295),
            enrolled_at bigint NOT NULL, bundle_version text, validation_category bigint,
            receipt bytea) WITH (fillfactor = 90);
        CREATE TABLE sallyport.challenges (
            challenge bytea PRIMARY KEY CHECK (octet_length(challenge) = 16), key_id bytea);
        CREATE INDEX challenges_key_id ON sallyport.challenges (key_id);
        CREATE TABLE sallyport.changes (
            revision bigint PRIMARY KEY, key_id bytea,
            mark uuid NOT NULL DEFAULT gen_random_uuid());
        INSERT INTO sallyport.registry (version, revision) VALUES (1, 1);
        INSERT INTO sallyport.changes (revision) VALUES (1);
        """
}
