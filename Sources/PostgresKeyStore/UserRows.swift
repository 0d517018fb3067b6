public import Attestation
import Bytes
public import KeyStore
import Postgres

/// Rows of `key_users`, and back.
enum UserRows {
    static func value(_ user: UserPseudonym) -> PostgresValue { .bytes(user.value.array) }

    /// The keys that ``PostgresSchema/findUser`` found.
    static func userKeys(_ rows: PostgresRows) throws(StoreError) -> UserKeys? {
        guard rows.count == 1 else { return nil }
        return UserKeys(
            user: try user(rows, 0, 0), firstSeen: rows.integer(0, 1) ?? 0,
            keyCount: Int(rows.integer(0, 2) ?? 0), hasEarlierKey: rows.integer(0, 3) == 1)
    }

    static func keyUsers(_ rows: PostgresRows) throws(StoreError) -> [KeyUser] {
        var users: [KeyUser] = []
        for row in 0..<rows.count {
            guard let digest = rows.bytes(row, 0).flatMap({ Bytes32($0) }) else { throw nonsense }
            users.append(
                KeyUser(
                    keyID: KeyID(digest: digest), user: try user(rows, row, 1),
                    firstSeen: rows.integer(row, 2) ?? 0, lastSeen: rows.integer(row, 3) ?? 0))
        }
        return users
    }

    private static func user(
        _ rows: PostgresRows, _ row: Int, _ column: Int
    ) throws(StoreError) -> UserPseudonym {
        guard let value = rows.bytes(row, column).flatMap({ Bytes16($0.span) }) else {
            throw nonsense
        }
        return UserPseudonym(value: value)
    }

    private static let nonsense = StoreError("registry: a row of key_users is invalid")
}

extension PostgresAdministration {
    public func users(of keyID: KeyID) throws(StoreError) -> [KeyUser] {
        try keyUsers(schema.usersOfKey, RegistryRows.value(keyID))
    }

    public func keys(of user: UserPseudonym) throws(StoreError) -> [KeyUser] {
        try keyUsers(schema.keysOfUser, UserRows.value(user))
    }

    public func forget(_ user: UserPseudonym) throws(StoreError) {
        try transaction { () throws(StoreError) in
            let outcomes = try session.runAll([
                .statement(PostgresSchema.begin),
                .statement(schema.forgetUser, UserRows.value(user)),
                // Written to the log even if there is nothing to forget: see `held_state`.
                .statement("SELECT FROM \(schema.table("registry")) FOR UPDATE"),
            ])
            let keyCount = outcomes[1].rowCount
            let notes = keyCount > 0 ? [AuditNote(forgettingUserOf: keyCount)] : []
            _ = try session.runAll(auditing(notes) + [.statement("COMMIT")])
        }
    }

    private func keyUsers(
        _ sql: String, _ value: PostgresValue
    ) throws(StoreError) -> [KeyUser] {
        let outcomes = try session.runAll([.statement(sql, value)])
        guard let rows = outcomes.first?.rows else { return [] }
        return try UserRows.keyUsers(rows)
    }
}
