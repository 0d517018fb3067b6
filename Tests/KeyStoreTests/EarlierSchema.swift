/// Statements that undo the newest migrations, so that tests have the tables of an earlier version.
/// None ends in a semicolon.
enum EarlierSchema {
    /// The version that both stores bring their tables to, written down apart from their own, so
    /// that a migration that is lost or counted wrong is found.
    static let currentVersion: Int64 = 11

    /// Everything of SQLite after version 10.
    static let sqliteAfter10 = """
        DROP INDEX challenges_spent_at; ALTER TABLE challenges DROP COLUMN spent_at
        """
    /// Everything of PostgreSQL after version 10.
    static let postgresAfter10 = """
        ALTER TABLE sallyport.challenges DROP COLUMN spent_at;
        CREATE INDEX challenges_key_id ON sallyport.challenges (key_id)
        """

    /// Everything of SQLite after version 9.
    static let sqliteAfter9 = "\(sqliteAfter10); DROP TABLE installations"
    /// Everything of PostgreSQL after version 9.
    static let postgresAfter9 = "\(postgresAfter10); DROP TABLE sallyport.installations"

    /// Everything of SQLite after version 8.
    static let sqliteAfter8 = "\(sqliteAfter9); DROP TABLE key_certificates"
    /// Everything of PostgreSQL after version 8.
    static let postgresAfter8 = "\(postgresAfter9); DROP TABLE sallyport.key_certificates"

    /// Everything of SQLite after version 6.
    static let sqliteAfter6 = """
        \(sqliteAfter8);
        ALTER TABLE keys DROP COLUMN platform;
        ALTER TABLE keys DROP COLUMN security_level;
        DROP INDEX keys_inactive
        """

    /// Everything of PostgreSQL after version 6.
    static let postgresAfter6 = """
        \(postgresAfter8);
        ALTER TABLE sallyport.keys DROP COLUMN platform, DROP COLUMN security_level;
        DROP INDEX sallyport.keys_inactive
        """
}
