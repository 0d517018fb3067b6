import Attestation
import Bytes
import KeyStore
import SQLite

/// The statements of `installations` on one connection. The caller runs the transactions.
final class InstallationTable {
    static let columns =
        "installation, generation, began_at, predecessor, successor, retires, retired"

    private let connection: Connection
    private let select: Statement
    private let selectNewest: Statement
    private let insert: Statement
    private let setSuccessor: Statement
    private let settle: Statement
    private let setRetired: Statement
    private let delete: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        select = try connection.prepare(
            "SELECT \(Self.columns) FROM installations WHERE key_id = ?")
        selectNewest = try connection.prepare(
            """
            SELECT key_id FROM installations WHERE installation = ?
            ORDER BY generation DESC LIMIT 1
            """)
        insert = try connection.prepare(
            """
            INSERT INTO installations (key_id, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO NOTHING
            """)
        setSuccessor = try connection.prepare(
            "UPDATE installations SET successor = ?2 WHERE key_id = ?1")
        settle = try connection.prepare(
            """
            UPDATE installations SET retires = 0
            WHERE key_id = ?1 AND predecessor = ?2 AND retires <> 0
            """)
        setRetired = try connection.prepare(
            "UPDATE installations SET retired = 1 WHERE key_id = ?1")
        delete = try connection.prepare("DELETE FROM installations WHERE key_id = ?")
    }

    func succession(of keyID: KeyID) throws(SQLiteError) -> KeySuccession? {
        defer { select.reset() }
        try select.bind(1, blob: keyID.digest)
        return try select.step() ? try Self.succession(in: select, from: 0) : nil
    }

    /// The place in ``columns`` of a row, of which `first` is the number of the first; nil if the
    /// row has none.
    static func succession(in row: Statement, from first: Int32) throws(SQLiteError)
        -> KeySuccession?
    {
        guard !row.isNull(first) else { return nil }
        guard let installation = row.blob(first).flatMap({ Bytes16($0.span) }),
            let generation = UInt32(exactly: row.integer(first + 1))
        else {
            throw SQLiteError(extendedCode: 11, message: "a row of installations is invalid")
        }
        return KeySuccession(
            installation: InstallationID(value: installation), generation: generation,
            beganAt: row.integer(first + 2),
            predecessor: row.bytes32(first + 3).map { KeyID(digest: $0) },
            successor: row.bytes32(first + 4).map { KeyID(digest: $0) },
            retiresPredecessor: row.integer(first + 5) != 0,
            isRetired: row.integer(first + 6) != 0)
    }

    /// The key of the highest generation.
    func newestKey(of installation: InstallationID) throws(SQLiteError) -> KeyID? {
        defer { selectNewest.reset() }
        try selectNewest.bind(1, blob: installation.value)
        guard try selectNewest.step() else { return nil }
        return selectNewest.bytes32(0).map { KeyID(digest: $0) }
    }

    func insert(_ place: KeySuccession, of keyID: KeyID) throws(SQLiteError) {
        defer { insert.reset() }
        try insert.bind(1, blob: keyID.digest)
        try insert.bind(2, blob: place.installation.value)
        try insert.bind(3, Int64(place.generation))
        try insert.bind(4, place.beganAt)
        try insert.bind(5, blob: place.predecessor?.digest.array)
        try insert.bind(6, blob: place.successor?.digest.array)
        try insert.bind(7, place.retiresPredecessor ? 1 : 0)
        try insert.bind(8, place.isRetired ? 1 : 0)
        try insert.run()
    }

    /// Names the successor of a key, which has a row.
    func setSuccessor(_ successor: KeyID, of keyID: KeyID) throws(SQLiteError) {
        defer { setSuccessor.reset() }
        try setSuccessor.bind(1, blob: keyID.digest)
        try setSuccessor.bind(2, blob: successor.digest)
        try setSuccessor.run()
    }

    /// Notes that the predecessor needs to be retired no more. False if that was noted before.
    func settle(_ retirement: KeyRetirement) throws(SQLiteError) -> Bool {
        defer { settle.reset() }
        try settle.bind(1, blob: retirement.successor.digest)
        try settle.bind(2, blob: retirement.predecessor.digest)
        try settle.run()
        return connection.changeCount > 0
    }

    func setRetired(_ keyID: KeyID) throws(SQLiteError) {
        defer { setRetired.reset() }
        try setRetired.bind(1, blob: keyID.digest)
        try setRetired.run()
    }

    func delete(_ keyID: KeyID) throws(SQLiteError) {
        defer { delete.reset() }
        try delete.bind(1, blob: keyID.digest)
        try delete.run()
    }
}
