import KeyStore

/// Spent challenges of attestations, which are kept for as long as they could be sent again.
extension PostgresSchema {
    static let dropChallenges = "drop_challenges"

    /// Challenges that were spent before count from the migration on. The index led an erasure to
    /// the challenge of its key; few rows are left to look through.
    var challengeMigration: [String] {
        [
            """
            ALTER TABLE \(table("challenges"))
                ADD COLUMN spent_at timestamptz NOT NULL DEFAULT now()
            """,
            "CREATE INDEX challenges_spent_at ON \(table("challenges")) (spent_at)",
            "DROP INDEX \(table("challenges_key_id"))",
        ]
    }

    /// Deletes challenges that were spent ``RegistryExpiry/challengeAge`` ago. Rows that another
    /// gateway deletes at this moment are left to it.
    var dropChallenges: String {
        let challenges = table("challenges")
        return """
            DELETE FROM \(challenges) WHERE challenge IN (
                SELECT challenge FROM \(challenges)
                WHERE spent_at <= now() - interval '\(RegistryExpiry.challengeAge) milliseconds'
                LIMIT \(RegistryExpiry.rowCountMax) FOR UPDATE SKIP LOCKED)
            """
    }
}
