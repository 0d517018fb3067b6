package import SQLite

/// The tables of a registry file and their versions.
///
/// - `keys`: one small row a key, the primary key being the key id. `public_key` holds the two
///   coordinates (64 bytes). Erased keys keep their id and counter only.
/// - `apps`: the app ids that keys belong to, so that a row holds a number.
/// - `challenges`: attestation challenges that enrolled a key, until they have ended for long
///   (``RegistryExpiry``); from version 11 with the second in which they were spent. Up to version
///   6 with the key, which was never read, and which an erasure had to look for in the whole table.
/// - `receipts`: apart, being larger than everything else about a key.
/// - `renewals`: the state of each receipt, and the time at which it is due to be renewed;
///   `renewals_due` leads to the next ones of an app.
/// - `changes`: the last status changes, for the caches of other processes; a row without a key id
///   stands for more keys than are named.
/// - `embedded_state`: the embedded counters of a clean stop.
/// - `shared_state`: small values that gateways share; from version 3.
/// - `key_users`: the users that a key was used for, as HMACs; from version 4.
/// - `audit`: the changes of operators; from version 6.
/// - `key_certificates`: the serial numbers of the certificates that vouch for a key, so that keys
///   can be found by a withdrawn one; from version 9.
/// - `installations`: the keys of installations that have had several; from version 10.
///
/// From version 5 `keys` has `device_bits`: null if the bits of the device are not known. From
/// version 7 `keys_inactive` leads to revoked and erased keys, which are few. From version 8 `keys`
/// has `platform`, null for Apple's, and `security_level`.
package enum RegistrySchema {
    /// The number "SlyP", which tells a registry from the databases of other programs.
    static let applicationID: Int64 = 0x536C_7950
    static var version: Int64 { Int64(migrations.count) }

    /// The migrations: step n leads from version n to version n + 1.
    private static let migrations = [
        """
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
        """,
        // Receipts that were kept before are due at once, because they were never read.
        """
        ALTER TABLE keys ADD COLUMN risk_metric INTEGER;
        CREATE TABLE renewals (
            key_id BLOB PRIMARY KEY NOT NULL CHECK (length(key_id) = 32),
            app INTEGER NOT NULL,
            environment INTEGER NOT NULL,
            kind INTEGER,
            created_at INTEGER,
            not_before INTEGER,
            expires_at INTEGER,
            due_at INTEGER,
            attempted_at INTEGER,
            outcome INTEGER,
            failures INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX renewals_due ON renewals (app, environment, due_at)
            WHERE due_at IS NOT NULL;
        INSERT INTO renewals (key_id, app, environment, due_at, failures)
            SELECT key_id, app, environment, CASE status WHEN 0 THEN enrolled_at END, 0
            FROM keys JOIN receipts USING (key_id);
        """,
        """
        CREATE TABLE shared_state (
            name TEXT PRIMARY KEY NOT NULL,
            value BLOB NOT NULL,
            version INTEGER NOT NULL,
            term INTEGER NOT NULL,
            expires_at INTEGER
        ) STRICT, WITHOUT ROWID;
        """,
        """
        CREATE TABLE key_users (
            key_id BLOB NOT NULL,
            user BLOB NOT NULL CHECK (length(user) = 16),
            first_seen INTEGER NOT NULL,
            last_seen INTEGER NOT NULL,
            PRIMARY KEY (key_id, user)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX key_users_user ON key_users (user, key_id);
        CREATE INDEX key_users_last_seen ON key_users (last_seen);
        """,
        "ALTER TABLE keys ADD COLUMN device_bits INTEGER;",
        """
        CREATE TABLE audit (
            number INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            way TEXT NOT NULL,
            who TEXT NOT NULL,
            origin TEXT NOT NULL,
            request TEXT NOT NULL,
            action TEXT NOT NULL,
            subject TEXT NOT NULL,
            outcome TEXT NOT NULL,
            detail TEXT NOT NULL
        ) STRICT;
        """,
        """
        UPDATE challenges SET key_id = NULL WHERE key_id IS NOT NULL;
        CREATE INDEX keys_inactive ON keys (status) WHERE status <> 0;
        """,
        """
        ALTER TABLE keys ADD COLUMN platform TEXT;
        ALTER TABLE keys ADD COLUMN security_level INTEGER;
        """,
        """
        CREATE TABLE key_certificates (
            serial TEXT NOT NULL,
            key_id BLOB NOT NULL,
            PRIMARY KEY (serial, key_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX key_certificates_key_id ON key_certificates (key_id);
        """,
        """
        CREATE TABLE installations (
            key_id BLOB PRIMARY KEY NOT NULL,
            installation BLOB NOT NULL CHECK (length(installation) = 16),
            generation INTEGER NOT NULL,
            began_at INTEGER NOT NULL,
            predecessor BLOB,
            successor BLOB,
            retires INTEGER NOT NULL,
            retired INTEGER NOT NULL,
            UNIQUE (installation, generation)
        ) STRICT, WITHOUT ROWID;
        """,
        """
        ALTER TABLE challenges ADD COLUMN spent_at INTEGER NOT NULL DEFAULT 0;
        UPDATE challenges SET spent_at = unixepoch();
        CREATE INDEX challenges_spent_at ON challenges (spent_at);
        """,
    ]

    /// Brings the tables of a file of version `found` up to date, and returns their version. It is
    /// higher than this program knows if a program of a later version has been there meanwhile.
    package static func update(
        _ connection: Connection, from found: Int64
    ) throws(SQLiteError) -> Int64 {
        guard found < version else { return found }
        return try connection.transaction(.immediate) { () throws(SQLiteError) in
            // Another process may have been first.
            let current = try connection.integer("PRAGMA user_version") ?? 0
            guard current < version else { return current }
            try migrate(connection, from: current)
            return version
        }
    }

    /// Brings the tables from `found` to the current version; inside the caller's transaction.
    static func migrate(_ connection: Connection, from found: Int64) throws(SQLiteError) {
        for step in migrations.dropFirst(Int(found)) { try connection.execute(step) }
        try connection.execute("PRAGMA application_id = \(applicationID)")
        try connection.execute("PRAGMA user_version = \(version)")
    }
}
