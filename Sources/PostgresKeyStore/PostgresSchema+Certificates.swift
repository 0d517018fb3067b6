public import Attestation
import Bytes
public import KeyStore
import Postgres

/// The statements of `key_certificates`. A value names several serial numbers by a space between
/// them.
extension PostgresSchema {
    var certificateTables: [String] {
        [
            """
            CREATE TABLE \(table("key_certificates")) (
                serial text NOT NULL,
                key_id bytea NOT NULL,
                PRIMARY KEY (serial, key_id))
            """,
            """
            CREATE INDEX key_certificates_key_id ON \(table("key_certificates")) (key_id)
            """,
        ]
    }

    /// Inserts the serial numbers of an inserted key, which are the 23rd value of the statement.
    var insertedCertificates: String {
        """
        vouched AS (INSERT INTO \(table("key_certificates")) (serial, key_id)
            SELECT unnest(string_to_array($23::text, ' ')), key_id FROM inserted
            ON CONFLICT DO NOTHING)
        """
    }

    /// The column with the serial numbers of a row of `keys`.
    var certificatesOfKey: String {
        """
        (SELECT string_agg(serial, ' ' ORDER BY serial COLLATE "C")
            FROM \(table("key_certificates")) AS vouching
            WHERE vouching.key_id = \(table("keys")).key_id) AS certificates
        """
    }

    var activeKeysUnder: String {
        """
        SELECT DISTINCT key_id
        FROM \(table("key_certificates")) JOIN \(table("keys")) USING (key_id)
        WHERE serial = ANY (string_to_array($1::text, ' ')) AND key_id > $2::bytea
            AND status = \(KeyStatus.active.code)
        ORDER BY key_id LIMIT $3::bigint
        """
    }
}

extension RegistryRows {
    static func value(_ serials: [String]) -> PostgresValue {
        PostgresValue(serials.isEmpty ? nil : serials.joined(separator: " "))
    }

    /// The serial numbers in a column that ``PostgresSchema/certificatesOfKey`` has made.
    static func serials(_ rows: PostgresRows, _ row: Int, _ column: Int) -> [String] {
        (rows.text(row, column) ?? "").split(separator: " ").map(String.init)
    }
}

extension PostgresAdministration {
    public func activeKeys(
        under serials: [String], after: KeyID?, countMax: Int
    ) throws(StoreError) -> [KeyID] {
        let outcomes = try session.runAll([
            .statement(
                schema.activeKeysUnder, RegistryRows.value(serials),
                .bytes(after?.digest.array ?? []), .integer(Int64(countMax)))
        ])
        guard let rows = outcomes.first?.rows else { return [] }
        return (0..<rows.count).compactMap { row in
            rows.bytes(row, 0).flatMap { Bytes32($0) }.map { KeyID(digest: $0) }
        }
    }
}
