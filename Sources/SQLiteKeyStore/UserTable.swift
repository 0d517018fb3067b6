import Attestation
import Bytes
import KeyStore
import SQLite

/// The statements of `key_users` on one connection. The caller runs the transactions.
final class UserTable {
    private let connection: Connection
    private let selectUserKeys: Statement
    private let insertSighting: Statement
    private let dropSurplus: Statement
    private let dropOld: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        selectUserKeys = try connection.prepare(
            """
            SELECT user, first_seen,
                (SELECT count(*) FROM (SELECT 1 FROM key_users AS counted
                    WHERE counted.user = here.user AND counted.last_seen >= ?2
                    LIMIT \(KeySighting.keyCountMax))),
                EXISTS (SELECT 1 FROM key_users AS earlier
                    WHERE earlier.user = here.user AND earlier.first_seen < here.first_seen)
            FROM key_users AS here WHERE key_id = ?1 AND (?3 IS NULL OR user = ?3)
            ORDER BY last_seen DESC, user LIMIT 1
            """)
        insertSighting = try connection.prepare(
            """
            INSERT INTO key_users (key_id, user, first_seen, last_seen)
            SELECT ?1, ?2, ?3, ?3 FROM keys WHERE key_id = ?1 AND status = 0
            ON CONFLICT (key_id, user) DO UPDATE SET last_seen = max(last_seen, excluded.last_seen)
            """)
        dropSurplus = try connection.prepare(
            """
            DELETE FROM key_users WHERE key_id = ?1 AND user NOT IN (
                SELECT user FROM key_users WHERE key_id = ?1
                ORDER BY last_seen DESC, user = ?2 DESC LIMIT \(KeySighting.userCountMax))
            """)
        dropOld = try connection.prepare(
            """
            DELETE FROM key_users WHERE (key_id, user) IN (
                SELECT key_id, user FROM key_users WHERE last_seen < ?1
                LIMIT \(RegistryExpiry.rowCountMax))
            """)
    }

    /// The keys of the user for whom the key was last used, or of `user`.
    func find(
        _ keyID: KeyID, _ user: UserPseudonym? = nil, countedSince: Int64
    ) throws(SQLiteError) -> UserKeys? {
        defer { selectUserKeys.reset() }
        try selectUserKeys.bind(1, blob: keyID.digest)
        try selectUserKeys.bind(2, countedSince)
        if let user {
            try selectUserKeys.bind(3, blob: user.value)
        } else {
            try selectUserKeys.bindNull(3)
        }
        guard try selectUserKeys.step() else { return nil }
        return UserKeys(
            user: try Self.user(selectUserKeys, 0), firstSeen: selectUserKeys.integer(1),
            keyCount: Int(selectUserKeys.integer(2)), hasEarlierKey: selectUserKeys.integer(3) != 0)
    }

    func note(_ sighting: KeySighting) throws(SQLiteError) -> UserKeys? {
        defer { insertSighting.reset() }
        try insertSighting.bind(1, blob: sighting.keyID.digest)
        try insertSighting.bind(2, blob: sighting.user.value)
        try insertSighting.bind(3, sighting.milliseconds)
        try insertSighting.run()
        guard connection.changeCount > 0 else { return nil }
        defer { dropSurplus.reset() }
        try dropSurplus.bind(1, blob: sighting.keyID.digest)
        try dropSurplus.bind(2, blob: sighting.user.value)
        try dropSurplus.run()
        return try find(sighting.keyID, sighting.user, countedSince: sighting.countedSince)
    }

    func forget(before milliseconds: Int64) throws(SQLiteError) {
        defer { dropOld.reset() }
        try dropOld.bind(1, milliseconds)
        try dropOld.run()
    }

    // MARK: for the operator

    func users(of keyID: KeyID) throws(SQLiteError) -> [KeyUser] {
        let statement = try connection.prepare(
            """
            SELECT key_id, user, first_seen, last_seen FROM key_users WHERE key_id = ?
            ORDER BY last_seen DESC, user
            """)
        try statement.bind(1, blob: keyID.digest)
        return try rows(of: statement)
    }

    func keys(of user: UserPseudonym) throws(SQLiteError) -> [KeyUser] {
        let statement = try connection.prepare(
            """
            SELECT key_id, user, first_seen, last_seen FROM key_users WHERE user = ?
            ORDER BY key_id
            """)
        try statement.bind(1, blob: user.value)
        return try rows(of: statement)
    }

    func forget(_ user: UserPseudonym) throws(SQLiteError) {
        let statement = try connection.prepare("DELETE FROM key_users WHERE user = ?")
        try statement.bind(1, blob: user.value)
        try statement.run()
    }

    private func rows(of statement: Statement) throws(SQLiteError) -> [KeyUser] {
        var rows: [KeyUser] = []
        while try statement.step() {
            guard let digest = statement.bytes32(0) else { throw Self.nonsense }
            rows.append(
                KeyUser(
                    keyID: KeyID(digest: digest), user: try Self.user(statement, 1),
                    firstSeen: statement.integer(2), lastSeen: statement.integer(3)))
        }
        return rows
    }

    private static func user(_ row: Statement, _ column: Int32) throws(SQLiteError) -> UserPseudonym
    {
        guard let value = row.blob(column).flatMap({ Bytes16($0.span) }) else { throw nonsense }
        return UserPseudonym(value: value)
    }

    private static let nonsense = SQLiteError(
        extendedCode: 11, message: "a row of key_users is invalid")
}
