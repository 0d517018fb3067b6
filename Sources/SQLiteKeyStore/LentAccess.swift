import AppAttest
import EventLoop
import KeyStore
import SQLite

/// The reader's connection, which others borrow while it has nothing to do: for keys that can be
/// read without waiting.
///
/// All share one page cache, so that a key whose neighbour was read is mostly at hand.
final class LentAccess: @unchecked Sendable {
    private let lock = Locked(())
    /// Guarded by the lock.
    private var access: RegistryAccess?

    /// Takes what is lent from now on. The reader's thread.
    func open(_ access: RegistryAccess) { lock.withLock { _ in self.access = access } }

    /// Uses the connection, if it is not closed, and waits for it. Replies may be given in `body`.
    /// The reader's thread.
    func use(_ body: (RegistryAccess) -> Void) {
        lock.withLock { _ in
            if let access { body(access) }
        }
    }

    /// Closes the connection. The reader's thread.
    func close() {
        lock.withLock { _ in
            access?.close()
            access = nil
        }
    }

    /// What can be said of keys on the caller's thread without waiting: neither for the disk nor
    /// for who has the connection just now. Nothing where the file has to be opened (again), and
    /// nothing where reading fails: the reader meets that itself, and tells.
    func readAtHand(_ keyIDs: [KeyID]) -> [KeyAtHand] {
        let keys = lock.withLockIfFree { _ in
            access?.openTables.map { tables in readAtHand(keyIDs, tables) }
        }
        return (keys ?? nil) ?? Array(repeating: .notAtHand, count: keyIDs.count)
    }

    private func readAtHand(_ keyIDs: [KeyID], _ tables: RegistryTables) -> [KeyAtHand] {
        tables.withOneSnapshot(for: keyIDs.count) {
            keyIDs.map { keyID in
                let record = try? tables.connection.readWithoutWaiting {
                    () throws(SQLiteError) in
                    try tables.find(keyID, withReceipt: false)
                }
                return record.map { .read($0) } ?? .notAtHand
            }
        }
    }
}
