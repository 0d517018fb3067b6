import KeyStore

/// Spent challenges of attestations, which are kept for as long as they could be sent again.
extension PostgresSchema {
    static let dropChallenges = "drop_challenges"

    var challengeTables: [String] {
        [
            """
            CREATE TABLE \(table("challenges")) (
                challenge bytea PRIMARY KEY CHECK (octet_length(challenge) = 16),
                key_id bytea,
                spent_at timestamptz NOT NULL DEFAULT now())
            """,
            "CREATE INDEX challenges_spent_at ON \(table("challenges")) (spent_at)",
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
