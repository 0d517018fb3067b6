import Attestation
import EventLoop
import KeyStore
import SQLite
import Synchronization

/// The reader's connection, which workers borrow while it is idle, for keys that can be read
/// without waiting.
///
/// All share one page cache, so that a key whose neighbour was read is mostly at hand.
final class LentAccess: Sendable {
    /// Used only under the lock.
    private struct Contents: @unchecked Sendable {
        var access: RegistryAccess?
    }

    /// Held for as long as the reader reads, because no other thread waits for it.
    private let contents = Locked(Contents())
    /// True while the reader waits for the lock, which is not fair: workers come one after another.
    private let isWanted = Atomic(false)
    private let budget = HurryBudget()

    /// True if borrowing is worth a try.
    var hasKeysAtHand: Bool { budget.allows(at: .now()) }

    /// Lends this connection from now on. The reader's thread.
    func open(_ access: RegistryAccess) { contents.withLock { $0.access = access } }

    /// The file was opened, for the first time or again. The reader's thread.
    func fileWasOpened() { budget.fileWasOpened() }

    /// Uses the connection, if it is not closed, and waits for it. `body` must not send replies, so
    /// that a thread that wakes from one finds the connection free. The reader's thread.
    func use(_ body: (RegistryAccess) -> Void) {
        isWanted.store(true, ordering: .relaxed)
        contents.withLock { contents in
            isWanted.store(false, ordering: .relaxed)
            if let access = contents.access { body(access) }
        }
    }

    /// Closes the connection. The reader's thread.
    func close() {
        contents.withLock { contents in
            contents.access?.close()
            contents.access = nil
        }
    }

    /// The records that can be read on the caller's thread without waiting: neither for the disk
    /// nor for another user of the connection. `.notAtHand` if the file has to be opened (again) or
    /// if reading fails: the reader meets the failure itself, and reports it.
    func readAtHand(_ keyIDs: [KeyID]) -> [KeyAtHand] {
        var found: [KeyAtHand] = []
        if hasKeysAtHand, !isWanted.load(ordering: .relaxed) {
            found.reserveCapacity(keyIDs.count)
            _ = contents.withLockIfFree { contents in
                guard let tables = contents.access?.openTables else { return }
                tables.withOneSnapshot(for: keyIDs.count) { read(keyIDs, tables, into: &found) }
            }
        }
        while found.count < keyIDs.count { found.append(.notAtHand) }
        return found
    }

    /// Reads keys until one is not at hand.
    private func read(_ keyIDs: [KeyID], _ tables: RegistryTables, into found: inout [KeyAtHand]) {
        for keyID in keyIDs {
            let start = MonotonicInstant.now()
            let record = try? tables.connection.readWithoutWaiting { () throws(SQLiteError) in
                try tables.find(keyID, withReceipt: false)
            }
            guard let record else {
                if tables.connection.canReadWithoutWaiting {
                    budget.miss(from: start, to: .now())
                } else {
                    budget.giveUpFile()
                }
                return
            }
            found.append(.read(record))
        }
    }
}
