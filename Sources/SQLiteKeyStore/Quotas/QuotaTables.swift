import Bytes
import KeyStore
import SQLite

/// The tables of the file of counts, over one connection.
///
/// A row has both sums of a count, and what it took in the batch of writes that changed it last. If
/// that is the last batch of all, it is charged once more after an unclean end, because it may have
/// been followed by charges that were not written.
final class QuotaTables {
    let connection: Connection
    private let insertPeriod: Statement
    private let selectPeriod: Statement
    private let upsert: Statement

    /// The number "SlyQ", which tells the file from the databases of other programs.
    static let applicationID: Int64 = 0x536C_7951
    static let version: Int64 = 1

    /// Batches are sparse, so small pages make for fewer bytes in the log.
    static let schema = """
        PRAGMA page_size = 1024;
        CREATE TABLE life (batch INTEGER NOT NULL, is_clean INTEGER NOT NULL);
        INSERT INTO life VALUES (0, 1);
        CREATE TABLE periods (
            id INTEGER PRIMARY KEY, first INTEGER NOT NULL, end INTEGER NOT NULL,
            UNIQUE (first, end));
        CREATE TABLE counts (
            period INTEGER NOT NULL, name BLOB NOT NULL, taken INTEGER NOT NULL,
            returned INTEGER NOT NULL, batch INTEGER NOT NULL, gained INTEGER NOT NULL,
            PRIMARY KEY (period, name)) WITHOUT ROWID;
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(version);
        """

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        insertPeriod = try connection.prepare(
            "INSERT OR IGNORE INTO periods (first, end) VALUES (?, ?)")
        selectPeriod = try connection.prepare(
            "SELECT id FROM periods WHERE first = ? AND end = ?")
        // The sums only grow, so of two the greater one is the later one.
        upsert = try connection.prepare(
            """
            INSERT INTO counts VALUES (?1, ?2, ?3, ?4, ?5, ?3 * ?6)
            ON CONFLICT DO UPDATE SET
                gained = max(0, ?3 - taken) * ?6 + CASE batch WHEN ?5 THEN gained ELSE 0 END,
                taken = max(taken, ?3), returned = max(returned, ?4), batch = ?5
            """)
    }

    /// A batch a millisecond does not get there in a thousand years.
    private static let batchMax: Int64 = 1 << 45

    func life() throws(SQLiteError) -> (batch: Int64, isClean: Bool) {
        let select = try connection.prepare("SELECT batch, is_clean FROM life")
        guard try select.step() else { return (0, false) }
        let batch = select.integer(0)
        guard (0...Self.batchMax).contains(batch) else {
            throw SQLiteError(extendedCode: 11, message: "no batch has number \(batch)")
        }
        return (batch, select.integer(1) != 0)
    }

    func setLife(batch: Int64, isClean: Bool) throws(SQLiteError) {
        let update = try connection.prepare("UPDATE life SET batch = ?, is_clean = ?")
        try update.bind(1, batch)
        try update.bind(2, isClean ? 1 : 0)
        try update.run()
    }

    /// Charges once more what counts took in a batch.
    func chargeAgain(batch: Int64) throws(SQLiteError) {
        let update = try connection.prepare(
            """
            UPDATE counts SET taken = min(taken + gained, \(QuotaSums.sumMax)) WHERE batch = ?
            """)
        try update.bind(1, batch)
        try update.run()
    }

    func periods() throws(SQLiteError) -> [(id: Int64, range: Range<Int64>)] {
        let select = try connection.prepare("SELECT id, first, end FROM periods")
        var periods: [(id: Int64, range: Range<Int64>)] = []
        while try select.step() {
            let (first, end) = (select.integer(1), select.integer(2))
            guard 0 <= first, first < end, end < Int64.max / 2 else { continue }
            periods.append((select.integer(0), first..<end))
        }
        return periods
    }

    /// The id of a period, which gets one if it has none.
    func id(of range: Range<Int64>) throws(SQLiteError) -> Int64 {
        for statement in [insertPeriod, selectPeriod] {
            try statement.bind(1, range.lowerBound)
            try statement.bind(2, range.upperBound)
        }
        try insertPeriod.run()
        defer { selectPeriod.reset() }
        guard try selectPeriod.step() else { return 0 }
        return selectPeriod.integer(0)
    }

    /// Writes a count. If `isGain`, what it has beyond its row was taken in this batch.
    func write(
        _ sums: QuotaSums, of name: Bytes16, inPeriod id: Int64, batch: Int64, isGain: Bool
    ) throws(SQLiteError) {
        try upsert.bind(1, id)
        try upsert.bind(2, blob: name)
        try upsert.bind(3, Int64(sums.taken))
        try upsert.bind(4, Int64(sums.returned))
        try upsert.bind(5, batch)
        try upsert.bind(6, isGain ? 1 : 0)
        try upsert.run()
    }

    /// Calls `use` with each count of a period, until it returns false.
    func read(
        period id: Int64, _ use: (Bytes16, QuotaSums) -> Bool
    ) throws(SQLiteError) {
        let select = try connection.prepare(
            "SELECT name, taken, returned FROM counts WHERE period = ?")
        try select.bind(1, id)
        while try select.step() {
            guard let bytes = select.blob(0), let name = Bytes16(bytes.span) else { continue }
            let sums = QuotaSums(
                taken: Int(select.integer(1)), returned: Int(select.integer(2)))
            guard use(name, sums) else { return }
        }
    }

    /// Deletes at most so many counts of a period, and the period with its last one.
    func delete(period id: Int64, countMax: Int64) throws(SQLiteError) {
        let delete = try connection.prepare(
            """
            DELETE FROM counts WHERE period = ?1
                AND name IN (SELECT name FROM counts WHERE period = ?1 LIMIT ?2)
            """)
        try delete.bind(1, id)
        try delete.bind(2, countMax)
        try delete.run()
        let end = try connection.prepare(
            """
            DELETE FROM periods WHERE id = ?1
                AND NOT EXISTS (SELECT 1 FROM counts WHERE period = ?1)
            """)
        try end.bind(1, id)
        try end.run()
    }
}
