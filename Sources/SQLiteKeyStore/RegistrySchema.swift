package import SQLite

/// The tables of a registry file and their version.
///
/// - `keys`: one small row a key, the primary key being the key id. `public_key` holds the two
///   coordinates (64 bytes). `device_bits` is null if the bits of the device are not known,
///   `platform` for Apple's. Erased keys keep their id and counter only. `keys_inactive` leads to
///   revoked and erased keys, which are few.
/// - `apps`: the app ids that keys belong to, so that a row holds a number.
/// - `challenges`: attestation challenges that enrolled a key, with the second in which they were
///   spent, until they have ended for long (``RegistryExpiry``).
/// - `receipts`: apart, being larger than everything else about a key.
/// - `renewals`: the state of each receipt, and the time at which it is due to be renewed;
///   `renewals_due` leads to the next ones of an app.
/// - `changes`: the last status changes, for the caches of other processes; a row without a key id
///   stands for more keys than are named.
/// - `embedded_state`: one row, the embedded counters of a clean stop.
/// - `shared_state`: small values that gateways share.
/// - `key_users`: the users that a key was used for, as HMACs.
/// - `audit`: the changes of operators.
/// - `key_certificates`: the serial numbers of the certificates that vouch for a key, so that keys
///   can be found by a withdrawn one.
/// - `installations`: the keys of installations that have had several.
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
            validation_category INTEGER,
            risk_metric INTEGER,
            device_bits INTEGER,
            platform TEXT,
            security_level INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX keys_inactive ON keys (status) WHERE status <> 0;
        CREATE TABLE challenges (
            challenge BLOB PRIMARY KEY NOT NULL, spent_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX challenges_spent_at ON challenges (spent_at);
        CREATE TABLE receipts (
            key_id BLOB NOT NULL UNIQUE, receipt BLOB NOT NULL
        ) STRICT;
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
        CREATE TABLE changes (
            revision INTEGER PRIMARY KEY, key_id BLOB
        ) STRICT;
        CREATE TABLE embedded_state (
            id INTEGER PRIMARY KEY CHECK (id = 0), bytes BLOB NOT NULL
        ) STRICT;
        CREATE TABLE shared_state (
            name TEXT PRIMARY KEY NOT NULL,
            value BLOB NOT NULL,
            version INTEGER NOT NULL,
            term INTEGER NOT NULL,
            expires_at INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE key_users (
            key_id BLOB NOT NULL,
            user BLOB NOT NULL CHECK (length(user) = 16),
            first_seen INTEGER NOT NULL,
            last_seen INTEGER NOT NULL,
            PRIMARY KEY (key_id, user)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX key_users_user ON key_users (user, key_id);
        CREATE INDEX key_users_last_seen ON key_users (last_seen);
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
        CREATE TABLE key_certificates (
            serial TEXT NOT NULL,
            key_id BLOB NOT NULL,
            PRIMARY KEY (serial, key_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX key_certificates_key_id ON key_certificates (key_id);
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
        """
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
        for step in migrations.dropFirst(Int(max(0, found))) { try connection.execute(step) }
        try connection.execute("PRAGMA application_id = \(applicationID)")
        try connection.execute("PRAGMA user_version = \(version)")
    }
}
