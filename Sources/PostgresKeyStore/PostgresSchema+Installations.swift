public import Attestation
import Bytes
public import KeyStore
import Postgres

/// The statements of `installations`.
extension PostgresSchema {
    static let placeColumns =
        "installation, generation, began_at, predecessor, successor, retires, retired"

    var installationTables: [String] {
        [
            """
            CREATE TABLE \(table("installations")) (
                key_id bytea PRIMARY KEY,
                installation bytea NOT NULL CHECK (octet_length(installation) = 16),
                generation bigint NOT NULL,
                began_at bigint NOT NULL,
                predecessor bytea,
                successor bytea,
                retires smallint NOT NULL,
                retired smallint NOT NULL,
                UNIQUE (installation, generation))
            """
        ]
    }

    /// The record of a key, and its place if its installation has had several.
    var findPlaced: String {
        """
        SELECT \(Self.keyColumns), \(Self.placeColumns)
        FROM \(table("keys")) LEFT JOIN \(table("installations")) USING (key_id) WHERE key_id = $1
        """
    }

    /// The row that ``RegistryRows/state(_:)`` reads.
    var selectState: String {
        """
        SELECT status, public_key, (SELECT installation FROM \(table("installations")) AS place
            WHERE place.key_id = here.key_id)
        FROM \(table("keys")) AS here WHERE key_id = $1
        """
    }

    /// Inserts the place of an inserted key, which is the last of the values of
    /// ``RegistryRows/values(_:)``.
    var insertedPlace: String {
        """
        placed AS (INSERT INTO \(table("installations")) (key_id, \(Self.placeColumns))
            SELECT key_id, $24::bytea, $25::bigint, $26::bigint, $27::bytea, $28::bytea,
                $29::bigint, $30::bigint
            FROM inserted WHERE $24 IS NOT NULL ON CONFLICT DO NOTHING)
        """
    }

    /// The newest key of the installation of `$1`, if that is another one, and its status.
    fileprivate var selectNewer: String {
        let places = table("installations")
        return """
            SELECT newest.key_id, newest.installation, keys.status
            FROM \(places) AS place JOIN \(places) AS newest
                ON newest.installation = place.installation
                AND newest.generation > place.generation
            JOIN \(table("keys")) AS keys ON keys.key_id = newest.key_id
            WHERE place.key_id = $1::bytea ORDER BY newest.generation DESC LIMIT 1
            """
    }

    // MARK: an enrolment with a ticket

    /// True if the newest key of an installation is revoked, and not by its successor. `$32` is the
    /// predecessor that a ticket names, `$33` the installation. These are the rules of
    /// ``SuccessionClaim/verdict(predecessor:newest:)``.
    private var newestIsRevoked: String {
        let (keys, places) = (table("keys"), table("installations"))
        return """
            coalesce((SELECT CASE
                WHEN former.status = \(KeyStatus.erased.code) THEN false
                WHEN place.successor IS NULL THEN former.status = \(KeyStatus.revoked.code)
                ELSE coalesce((SELECT newest.status = \(KeyStatus.revoked.code) AND last.retired = 0
                    FROM \(places) AS last JOIN \(keys) AS newest USING (key_id)
                    WHERE last.installation = $33::bytea ORDER BY last.generation DESC LIMIT 1),
                    false)
                END FROM \(keys) AS former LEFT JOIN \(places) AS place USING (key_id)
                WHERE key_id = $32::bytea), false)
            """
    }

    var enrolUnlessRevoked: String { enrol(unless: newestIsRevoked) }

    /// Takes the place after a predecessor, if that is active and has no successor yet. `$1`: the
    /// key, which must not be known. `$2`: the predecessor, whose row is locked. `$3`: the
    /// installation. `$4`: the challenge, which was spent for the key.
    var takePlace: String {
        let (keys, places) = (table("keys"), table("installations"))
        return """
            INSERT INTO \(places)
                (key_id, installation, generation, began_at, predecessor, retires, retired)
            SELECT $1::bytea, $3::bytea, coalesce(place.generation, 0) + 1,
                coalesce(place.began_at, former.enrolled_at), key_id, 1, 0
            FROM \(keys) AS former LEFT JOIN \(places) AS place USING (key_id)
            WHERE key_id = $2::bytea AND former.status = \(KeyStatus.active.code)
                AND place.successor IS NULL
                AND NOT EXISTS (SELECT FROM \(keys) AS known WHERE known.key_id = $1)
                AND EXISTS (SELECT FROM \(table("challenges")) AS spent
                    WHERE spent.challenge = $4::bytea AND spent.key_id = $1)
            ON CONFLICT DO NOTHING
            """
    }

    /// Names the key its predecessor's successor, if it has taken that place.
    var nameSuccessor: String {
        let places = table("installations")
        return """
            INSERT INTO \(places) AS former
                (key_id, installation, generation, began_at, successor, retires, retired)
            SELECT predecessor, installation, generation - 1, began_at, key_id, 0, 0
            FROM \(places) WHERE key_id = $1::bytea AND predecessor IS NOT NULL
            ON CONFLICT (key_id) DO UPDATE SET successor = excluded.successor
                WHERE former.successor IS NULL
            """
    }

    /// Gives a key that has just taken its place, and is about to be added, the users of its
    /// predecessor. They are moved and not copied, so that both keys count as one of each user's.
    var moveUsers: String {
        """
        UPDATE \(table("key_users")) SET key_id = $1::bytea WHERE key_id = $2::bytea
            AND NOT EXISTS (SELECT FROM \(table("keys")) AS known WHERE known.key_id = $1)
            AND EXISTS (SELECT FROM \(table("installations")) AS place
                WHERE place.key_id = $1 AND place.predecessor = $2)
        """
    }

    // MARK: a retirement

    /// True if the key `successor` has yet to retire its predecessor, and that was retired in this
    /// transaction. Both are numbers of values.
    private func isRetiring(_ successor: String, _ predecessor: String) -> String {
        """
        EXISTS (SELECT FROM \(table("installations")) AS later
            JOIN \(table("installations")) AS former ON former.key_id = later.predecessor
            WHERE later.key_id = \(successor)::bytea AND later.retires = 1
                AND former.key_id = \(predecessor)::bytea AND former.retired = 1)
        """
    }

    /// Locks the places of both keys, before the row of `registry` is locked: commands that erase
    /// keys do it in this order, too.
    var lockPlaces: String {
        """
        SELECT FROM \(table("installations")) WHERE key_id IN ($1::bytea, $2::bytea)
        ORDER BY key_id FOR UPDATE
        """
    }

    /// Marks the predecessor `$1` of `$2` as retired, if it is active.
    var markRetired: String {
        """
        UPDATE \(table("installations")) SET retired = 1
        WHERE key_id = $1::bytea AND successor = $2::bytea AND EXISTS (
            SELECT FROM \(table("keys")) AS former
            WHERE former.key_id = $1 AND former.status = \(KeyStatus.active.code))
        """
    }

    /// Revokes the predecessor `$1` of `$2`.
    var retire: [String] {
        let condition = isRetiring("$2", "$1")
        return [
            """
            UPDATE \(table("keys")) SET status = \(KeyStatus.revoked.code)
            WHERE key_id = $1 AND \(condition)
            """,
            """
            UPDATE \(table("renewals")) SET due_at = NULL WHERE key_id = $1 AND \(condition)
            """,
        ]
    }

    /// Tells caches of `$1`, one of the two keys.
    var noteRetirement: String { noteChange(if: isRetiring("$3", "$2")) }

    /// The first eight values are those of ``insertAudit``, then the predecessor and the successor.
    var auditRetirement: String { insertAudit(if: isRetiring("$10", "$9")) }

    /// Notes that the predecessor `$1` of `$2` needs to be retired no more.
    var settleRetirement: String {
        """
        UPDATE \(table("installations")) SET retires = 0
        WHERE key_id = $2::bytea AND predecessor = $1::bytea
        """
    }
}

extension PostgresAdministration {
    public func newerKeys(than keyIDs: [KeyID]) throws(StoreError) -> [KeyID: NewerKey] {
        let outcomes = try session.runAll(
            keyIDs.map { .statement(schema.selectNewer, RegistryRows.value($0)) })
        var newer: [KeyID: NewerKey] = [:]
        for (keyID, outcome) in zip(keyIDs, outcomes) {
            guard let rows = outcome.rows, rows.count == 1,
                rows.integer(0, 2) == KeyStatus.active.code,
                let newest = rows.bytes(0, 0).flatMap({ Bytes32($0) }),
                let installation = RegistryRows.installation(rows, 0, 1)
            else { continue }
            newer[keyID] = NewerKey(keyID: KeyID(digest: newest), installation: installation)
        }
        return newer
    }
}

extension RegistryRows {
    static func value(_ installation: InstallationID) -> PostgresValue {
        .bytes(installation.value.array)
    }

    /// The values of ``PostgresSchema/placeColumns``.
    static func values(_ place: KeySuccession?) -> [PostgresValue] {
        [
            place.map { value($0.installation) } ?? .null,
            PostgresValue(place.map { Int64($0.generation) }), PostgresValue(place?.beganAt),
            PostgresValue(place?.predecessor?.digest.array),
            PostgresValue(place?.successor?.digest.array),
            PostgresValue(place.map { $0.retiresPredecessor ? 1 : 0 }),
            PostgresValue(place.map { $0.isRetired ? 1 : 0 }),
        ]
    }

    static func installation(_ rows: PostgresRows, _ row: Int, _ column: Int) -> InstallationID? {
        rows.bytes(row, column).flatMap { Bytes16($0.span) }.map { InstallationID(value: $0) }
    }

    /// The place in ``PostgresSchema/placeColumns`` from `first` on; nil if the key has none.
    static func succession(
        _ rows: PostgresRows, _ row: Int, _ first: Int
    ) throws(StoreError) -> KeySuccession? {
        guard rows.bytes(row, first) != nil else { return nil }
        guard let installation = installation(rows, row, first),
            let generation = rows.integer(row, first + 1).flatMap({ UInt32(exactly: $0) })
        else { throw StoreError("registry: a row of installations is invalid") }
        func key(_ column: Int) -> KeyID? {
            rows.bytes(row, column).flatMap { Bytes32($0) }.map { KeyID(digest: $0) }
        }
        return KeySuccession(
            installation: installation, generation: generation,
            beganAt: rows.integer(row, first + 2) ?? 0, predecessor: key(first + 3),
            successor: key(first + 4), retiresPredecessor: rows.integer(row, first + 5) == 1,
            isRetired: rows.integer(row, first + 6) == 1)
    }
}
