import KeyStore

/// The statements of `key_users`.
extension PostgresSchema {
    static let findUser = "find_user"
    static let note = "note"
    static let dropSurplus = "drop_surplus"
    static let dropOld = "drop_old"

    var userTables: [String] {
        [
            """
            CREATE TABLE \(table("key_users")) (
                key_id bytea NOT NULL,
                user_id bytea NOT NULL CHECK (octet_length(user_id) = 16),
                first_seen bigint NOT NULL,
                last_seen bigint NOT NULL,
                PRIMARY KEY (key_id, user_id))
            """,
            "CREATE INDEX key_users_user_id ON \(table("key_users")) (user_id, key_id)",
            "CREATE INDEX key_users_last_seen ON \(table("key_users")) (last_seen)",
        ]
    }

    /// Finds the user for whom the key was last used, or the given one.
    var findUser: String {
        let users = table("key_users")
        return """
            SELECT user_id, first_seen,
                (SELECT count(*) FROM (SELECT FROM \(users) AS counted
                    WHERE counted.user_id = here.user_id AND counted.last_seen >= $2::bigint
                    LIMIT \(KeySighting.keyCountMax)) AS known),
                EXISTS (SELECT FROM \(users) AS earlier
                    WHERE earlier.user_id = here.user_id AND earlier.first_seen < here.first_seen)
            FROM \(users) AS here
            WHERE key_id = $1::bytea AND ($3::bytea IS NULL OR user_id = $3)
            ORDER BY last_seen DESC, user_id LIMIT 1
            """
    }

    /// Notes a use. The key's row is locked, so that an erasure comes before or after, and never
    /// leaves this row behind.
    var note: String {
        """
        INSERT INTO \(table("key_users")) AS known (key_id, user_id, first_seen, last_seen)
        SELECT $1::bytea, $2::bytea, $3::bigint, $3 FROM \(table("keys"))
        WHERE key_id = $1 AND status = 0 FOR KEY SHARE
        ON CONFLICT (key_id, user_id)
            DO UPDATE SET last_seen = greatest(known.last_seen, excluded.last_seen)
        """
    }

    var dropSurplus: String {
        let users = table("key_users")
        return """
            DELETE FROM \(users) WHERE key_id = $1::bytea AND user_id NOT IN (
                SELECT user_id FROM \(users) WHERE key_id = $1
                ORDER BY last_seen DESC, user_id = $2::bytea DESC
                LIMIT \(KeySighting.userCountMax))
            """
    }

    /// Deletes old rows. Rows that another gateway deletes at this moment are left to it.
    var dropOld: String {
        let users = table("key_users")
        return """
            DELETE FROM \(users) WHERE (key_id, user_id) IN (
                SELECT key_id, user_id FROM \(users) WHERE last_seen < $1::bigint
                LIMIT \(RegistryExpiry.rowCountMax) FOR UPDATE SKIP LOCKED)
            """
    }

    // MARK: statements of the keys command

    var usersOfKey: String {
        """
        SELECT key_id, user_id, first_seen, last_seen FROM \(table("key_users"))
        WHERE key_id = $1 ORDER BY last_seen DESC, user_id
        """
    }

    var keysOfUser: String {
        """
        SELECT key_id, user_id, first_seen, last_seen FROM \(table("key_users"))
        WHERE user_id = $1 ORDER BY key_id
        """
    }

    var forgetUser: String { "DELETE FROM \(table("key_users")) WHERE user_id = $1" }
}
