import Bytes
import EventLoop
package import KeyStore
import SQLite

/// The file beside a registry that keeps the embedded counts of quotas for the next start.
///
/// One thread at a time uses it, and no request waits for it. Its connection has the file to
/// itself, so that there is no index in shared memory (`-shm`), whose pages could make the thread
/// wait in a fault.
package final class QuotaFile {
    private enum Fault: Error {
        case sqlite(SQLiteError)
        /// The file is a database, but none of counts that this program knows.
        case foreign
        case other(String)

        /// True if the file itself is of no use, so that a new one has to take its place.
        var isDamage: Bool {
            switch self {
            // 1: a table or a column is missing.
            case .sqlite(let error): error.isCorrupt || error.code == 1
            case .foreign: true
            case .other: false
            }
        }

        var words: String {
            switch self {
            case .sqlite(let error): error.isFull ? "the disk is full: \(error)" : "\(error)"
            case .foreign: "it is a file of another program, or of a later version of this one"
            case .other(let words): words
            }
        }
    }

    package let path: String
    private let registryPath: String
    private var tables: QuotaTables?
    private var batch: Int64 = 0
    /// The batch that a start after a kill would charge again; nil if that batch is empty.
    private var chargedAgain: Int64?
    /// True if the file may lack charges from before the present batch. What the batch then writes
    /// was not taken in one second, so it is not charged again.
    private var isBehind = false

    /// The most counts in a transaction, which takes some 0.3 s and 6 MB of memory.
    private static let countMax = 65_536
    /// The most counts of ended periods that are deleted in a turn, so that writing does not wait.
    private static let deletedCountMax: Int64 = 16_384

    package init(registryPath: String) {
        // Beside the file itself, because a link may lead to it under another name.
        self.registryPath = File.resolved(registryPath)
        path = self.registryPath + ".quotas"
    }

    // MARK: the start

    /// Reads the counts that a process before has left. From here on an end without
    /// ``write(_:wallMilliseconds:isLast:)`` is an unclean one.
    package func read(
        into quotas: EmbeddedQuotas, nowMilliseconds: Int64, wallMilliseconds: Int64
    ) -> QuotaOpening {
        guard DatabaseFile.content(at: path) != .missing else { return .none }
        do throws(Fault) {
            let tables = try open()
            var found = QuotaOpening.none
            do throws(SQLiteError) {
                found = try read(
                    tables, into: quotas, now: nowMilliseconds, wall: wallMilliseconds)
            } catch {
                throw .sqlite(error)
            }
            return found
        } catch {
            tables = nil
            // A part of the file may have been read.
            isBehind = true
            return .lost(
                error.isDamage ? setAside(because: error.words) : "\(path): \(error.words)")
        }
    }

    private func read(
        _ tables: QuotaTables, into quotas: EmbeddedQuotas, now: Int64, wall: Int64
    ) throws(SQLiteError) -> QuotaOpening {
        let life = try tables.life()
        try tables.connection.transaction(.immediate) { () throws(SQLiteError) in
            if !life.isClean { try tables.chargeAgain(batch: life.batch) }
            // Whatever happens before the next batch, this one is not charged again.
            try tables.setLife(batch: life.batch + 1, isClean: false)
        }
        batch = life.batch + 1
        var count = 0
        var leftOutCount = 0
        for period in try tables.periods() {
            try tables.read(period: period.id) { name, sums in
                let isIn = quotas.restore(
                    QuotaCount(name: name, period: period.range), sums, nowMilliseconds: now,
                    wallMilliseconds: wall)
                if isIn { count += 1 } else { leftOutCount += 1 }
                return true
            }
        }
        return .resumed(countCount: count, isClean: life.isClean, leftOutCount: leftOutCount)
    }

    /// Keeps a file that is of no use under another name, in place of the one before it. Returns
    /// words for the operator.
    private func setAside(because reason: String) -> String {
        tables = nil
        let kept = path + ".damaged"
        // The log first: a new file must not find it.
        for suffix in ["-wal", ""] {
            try? File.remove(kept + suffix)
            do throws(IOError) {
                try File.rename(path + suffix, to: kept + suffix)
            } catch {
                if error.reason != .notFound { return "\(path): \(reason); \(error)" }
            }
        }
        return "\(path): \(reason); it is kept as \(kept)"
    }

    // MARK: writing

    /// Writes what has changed since the last time, and deletes some of what has ended. Makes the
    /// file if there is none and something to write. `isLast`: nothing is charged any more.
    ///
    /// What could not be written is written next time, to a file that is opened again.
    package func write(
        _ quotas: EmbeddedQuotas, wallMilliseconds: Int64, isLast: Bool = false
    ) throws(StoreError) {
        do throws(Fault) {
            if let tables, tables.connection.fileHasMoved {
                self.tables = nil
                isBehind = true
                quotas.markAllChanged()
            }
            batch += 1
            // Others change meanwhile, and have the next turn.
            for _ in 0...quotas.countCount / Self.countMax {
                let changes = quotas.takeChanges(countMax: Self.countMax)
                if changes.isEmpty { break }
                do throws(Fault) {
                    try write(changes)
                } catch {
                    isBehind = true
                    quotas.markChanged(changes.lazy.map(\.count))
                    throw error
                }
            }
            isBehind = false
            guard tables != nil || DatabaseFile.content(at: path) != .missing else { return }
            try end(quotas, wall: wallMilliseconds, isLast: isLast)
        } catch {
            tables = nil
            guard error.isDamage else { throw StoreError("\(path): \(error.words)") }
            isBehind = true
            quotas.markAllChanged()
            throw StoreError(setAside(because: error.words))
        }
    }

    private func write(
        _ changes: [(count: QuotaCount, sums: QuotaSums)]
    ) throws(Fault) {
        guard !changes.isEmpty else { return }
        let tables = try openOrMake()
        do throws(SQLiteError) {
            try tables.connection.transaction(.immediate) { () throws(SQLiteError) in
                var ids: [Range<Int64>: Int64] = [:]
                // In the order of the table, so that each of its pages is changed once.
                let sorted = changes.sorted { first, second in
                    (first.count.name.word0, first.count.name.word1)
                        < (second.count.name.word0, second.count.name.word1)
                }
                for (count, sums) in sorted {
                    let id: Int64
                    if let known = ids[count.period] {
                        id = known
                    } else {
                        id = try tables.id(of: count.period)
                        ids[count.period] = id
                    }
                    try tables.write(
                        sums, of: count.name, inPeriod: id, batch: batch, isGain: !isBehind)
                }
                try tables.setLife(batch: batch, isClean: false)
            }
            chargedAgain = batch
        } catch {
            throw .sqlite(error)
        }
    }

    private func end(_ quotas: EmbeddedQuotas, wall: Int64, isLast: Bool) throws(Fault) {
        let tables = try openOrMake()
        do throws(SQLiteError) {
            for period in try tables.periods()
            where quotas.isOver(period.range, wallMilliseconds: wall) {
                try tables.delete(period: period.id, countMax: Self.deletedCountMax)
            }
            if isLast {
                try tables.setLife(batch: batch, isClean: true)
            } else if let last = chargedAgain, last < batch {
                // Nothing was taken since. Without this, an idle gateway that is killed would have
                // its last batch charged again, however old that is.
                try tables.setLife(batch: batch, isClean: false)
                chargedAgain = nil
            }
        } catch {
            throw .sqlite(error)
        }
    }

    /// Closes the connection, with which SQLite takes the log into the file.
    package func close() { tables = nil }

    // MARK: opening

    private func openOrMake() throws(Fault) -> QuotaTables {
        if let tables { return tables }
        if DatabaseFile.content(at: path) == .missing {
            // A log alone is of no use, and would be taken for that of the new file.
            try? File.remove(path + "-wal")
            do throws(DatabaseFileError) {
                try DatabaseFile.create(path: path) { connection throws(SQLiteError) in
                    try connection.execute(QuotaTables.schema)
                }
            } catch {
                throw Self.fault(error)
            }
            FileRights(ofFileAt: registryPath)?.apply(toFileAt: path)
        }
        let tables = try open()
        do throws(SQLiteError) {
            // A file that another process has written to goes on with its batches.
            let last = try tables.life().batch
            batch = max(batch, last + 1)
            chargedAgain = last
        } catch {
            throw .sqlite(error)
        }
        return tables
    }

    private static func fault(_ error: DatabaseFileError) -> Fault {
        switch error {
        case .directory(let path, let reason): .other("\(path): \(reason)")
        case .strayLog(let path): .other("\(path) is in the way")
        case .system(let words): .other(words)
        case .database(let error): .sqlite(error)
        }
    }

    private func open() throws(Fault) -> QuotaTables {
        let isKnown: Bool
        var opened: QuotaTables?
        do throws(SQLiteError) {
            var options = Connection.Options()
            options.cacheByteCount = 4 * 1024 * 1024
            options.busyMillisecondsMax = 1000
            let connection = try Connection(path: path, options: options)
            try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            let application = try connection.integer("PRAGMA application_id")
            let version = try connection.integer("PRAGMA user_version")
            isKnown =
                application == QuotaTables.applicationID && version == QuotaTables.version
            if isKnown { opened = try prepare(connection) }
        } catch {
            throw .sqlite(error)
        }
        guard isKnown else { throw .foreign }
        guard let opened else {
            throw .other("its file system does not allow a write-ahead log")
        }
        tables = opened
        return opened
    }

    /// Nil if there can be no write-ahead log.
    private func prepare(_ connection: Connection) throws(SQLiteError) -> QuotaTables? {
        guard try connection.enableWriteAheadLog() else { return nil }
        // Names in it are pseudonyms.
        try connection.execute("PRAGMA secure_delete = OFF")
        try connection.execute("PRAGMA journal_size_limit = \(16 << 20)")
        return try QuotaTables(connection)
    }
}
