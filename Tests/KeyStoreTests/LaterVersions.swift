/// Statements that take back what later versions of the tables have brought, for tests that begin
/// with an earlier one.
enum LaterVersions {
    /// Everything after version 6 of a file.
    static let sqlite = """
        ALTER TABLE keys DROP COLUMN platform;
        ALTER TABLE keys DROP COLUMN security_level;
        DROP INDEX keys_inactive;
        """

    /// Everything after version 6 of a schema.
    static let postgres = """
        ALTER TABLE sallyport.keys DROP COLUMN platform, DROP COLUMN security_level;
        DROP INDEX sallyport.keys_inactive;
        """
}
