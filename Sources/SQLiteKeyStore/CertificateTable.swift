import Attestation
import Bytes
import KeyStore
import SQLite

/// The statements of `key_certificates` on one connection. The caller runs the transactions.
final class CertificateTable {
    private let connection: Connection
    private let selectSerials: Statement
    private let insertSerial: Statement
    private let deleteSerials: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        selectSerials = try connection.prepare(
            "SELECT serial FROM key_certificates WHERE key_id = ? ORDER BY serial")
        insertSerial = try connection.prepare(
            """
            INSERT INTO key_certificates (serial, key_id) VALUES (?, ?) ON CONFLICT DO NOTHING
            """)
        deleteSerials = try connection.prepare("DELETE FROM key_certificates WHERE key_id = ?")
    }

    func serials(of keyID: KeyID) throws(SQLiteError) -> [String] {
        defer { selectSerials.reset() }
        try selectSerials.bind(1, blob: keyID.digest)
        var serials: [String] = []
        while try selectSerials.step() {
            if let serial = selectSerials.text(0) { serials.append(serial) }
        }
        return serials
    }

    func insert(_ record: KeyRecord) throws(SQLiteError) {
        for serial in record.certificates {
            defer { insertSerial.reset() }
            try insertSerial.bind(1, text: serial)
            try insertSerial.bind(2, blob: record.keyID.digest)
            try insertSerial.run()
        }
    }

    func delete(_ keyID: KeyID) throws(SQLiteError) {
        defer { deleteSerials.reset() }
        try deleteSerials.bind(1, blob: keyID.digest)
        try deleteSerials.run()
    }

    // MARK: for the operator

    /// Each serial number is looked up by itself, in the order of the primary key, so that a
    /// certificate that vouches for a million keys is not read from its first one for each page.
    func activeKeys(
        under serials: [String], after: KeyID?, countMax: Int
    ) throws(SQLiteError) -> [KeyID] {
        let statement = try connection.prepare(
            """
            SELECT key_id FROM key_certificates JOIN keys USING (key_id)
            WHERE serial = ?1 AND key_id > ?2 AND status = \(KeyStatus.active.code)
            ORDER BY key_id LIMIT ?3
            """)
        var found: Set<KeyID> = []
        for serial in serials {
            defer { statement.reset() }
            try statement.bind(1, text: serial)
            try statement.bind(2, blob: after?.digest.array ?? [])
            try statement.bind(3, Int64(countMax))
            while try statement.step() {
                if let digest = statement.bytes32(0) { found.insert(KeyID(digest: digest)) }
            }
        }
        return Array(found.sorted { $0.digest < $1.digest }.prefix(countMax))
    }
}
