import Bytes
import KeyStore
import SQLite

/// The spent challenges of enrolments.
final class ChallengeTable {
    private let select: Statement
    private let insert: Statement
    private let dropOld: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        select = try connection.prepare("SELECT 1 FROM challenges WHERE challenge = ?")
        insert = try connection.prepare(
            "INSERT INTO challenges (challenge, spent_at) VALUES (?, unixepoch())")
        dropOld = try connection.prepare(
            """
            DELETE FROM challenges WHERE challenge IN (
                SELECT challenge FROM challenges
                WHERE spent_at <= unixepoch() - \(RegistryExpiry.challengeAge / 1000)
                LIMIT \(RegistryExpiry.rowCountMax))
            """)
    }

    func isSpent(_ challenge: Bytes16) throws(SQLiteError) -> Bool {
        defer { select.reset() }
        try select.bind(1, blob: challenge)
        return try select.step()
    }

    func spend(_ challenge: Bytes16) throws(SQLiteError) {
        defer { insert.reset() }
        try insert.bind(1, blob: challenge)
        try insert.run()
    }

    /// Forgets challenges that were spent ``RegistryExpiry/challengeAge`` ago.
    func forget() throws(SQLiteError) {
        defer { dropOld.reset() }
        try dropOld.run()
    }
}
