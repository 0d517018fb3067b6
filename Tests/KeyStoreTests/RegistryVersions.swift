/// The tables of earlier versions as they were made then, with one key each.
enum RegistryVersions {
    static let sqlite1 = """
        CREATE TABLE apps (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE
        ) STRICT;
        CREATE TABLE keys (
            key_id BLOB PRIMARY KEY NOT NULL CHECK (length(key_id) = 32),
            public_key BLOB,
            app INTEGER NOT NULL,
            environment INTEGER NOT NULL,
            status INTEGER NOT NULL,
            counter INTEGER NOT NULL,
            enrolled_at INTEGER NOT NULL,
            bundle_version TEXT,
            validation_category INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE challenges (
            challenge BLOB PRIMARY KEY NOT NULL, key_id BLOB
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE receipts (
            key_id BLOB NOT NULL UNIQUE, receipt BLOB NOT NULL
        ) STRICT;
        CREATE TABLE changes (
            revision INTEGER PRIMARY KEY, key_id BLOB
        ) STRICT;
        CREATE TABLE embedded_state (
            part INTEGER PRIMARY KEY, bytes BLOB NOT NULL
        ) STRICT;
        INSERT INTO apps VALUES (1, 'ABCDE12345.com.example.app');
        INSERT INTO keys VALUES (
            x'\(keyIDHex)', x'\(publicKeyHex)', 1, 0, 0, 41, 1790000000, '1.2', 3);
        INSERT INTO challenges VALUES (x'000102030405060708090a0b0c0d0e0f', x'\(keyIDHex)');
        INSERT INTO receipts VALUES (x'\(keyIDHex)', x'0102');
        PRAGMA application_id = 1399617872;
        PRAGMA user_version = 1;
        """

    static let postgres1 = """
        CREATE SCHEMA sallyport;
        CREATE TABLE sallyport.registry (
            id boolean PRIMARY KEY DEFAULT true CHECK (id),
            version integer NOT NULL,
            revision bigint NOT NULL);
        CREATE TABLE sallyport.keys (
            key_id bytea PRIMARY KEY CHECK (octet_length(key_id) = 32),
            public_key bytea CHECK (octet_length(public_key) = 64),
            app_id text NOT NULL,
            environment smallint NOT NULL,
            status smallint NOT NULL,
            counter bigint NOT NULL CHECK (counter BETWEEN 0 AND 4294967295),
            enrolled_at bigint NOT NULL,
            bundle_version text,
            validation_category bigint,
            receipt bytea) WITH (fillfactor = 90);
        ALTER TABLE sallyport.keys ALTER COLUMN receipt SET STORAGE EXTERNAL;
        CREATE TABLE sallyport.challenges (
            challenge bytea PRIMARY KEY CHECK (octet_length(challenge) = 16),
            key_id bytea);
        CREATE INDEX challenges_key_id ON sallyport.challenges (key_id);
        CREATE TABLE sallyport.changes (
            revision bigint PRIMARY KEY,
            key_id bytea,
            mark uuid NOT NULL DEFAULT gen_random_uuid());
        INSERT INTO sallyport.registry (version, revision) VALUES (1, 1);
        INSERT INTO sallyport.changes (revision) VALUES (1);
        INSERT INTO sallyport.keys VALUES (
            '\\x\(keyIDHex)', '\\x\(publicKeyHex)', 'ABCDE12345.com.example.app',
            0, 0, 41, 1790000000, '1.2', 3, '\\x0102');
        """

    private static let keyIDHex = String(repeating: "a5", count: 32)
    private static let publicKeyHex = String(repeating: "0b", count: 64)
}
