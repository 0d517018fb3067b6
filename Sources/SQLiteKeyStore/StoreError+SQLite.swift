import KeyStore
import SQLite

extension StoreError {
    /// `path`: the file, if the reader would not know which one it is.
    init(_ error: SQLiteError, path: String? = nil) {
        let hint =
            if error.isFull {
                "the disk is full"
            } else if error.isReadOnly {
                "the file cannot be written"
            } else if error.isBusy {
                "another process holds the write lock"
            } else if error.isCorrupt {
                "the file is damaged, restore a backup"
            } else if error.isInputOutput {
                "reading or writing failed"
            } else {
                "failed"
            }
        self.init("registry\(path.map { " \($0)" } ?? ""): \(hint): \(error)")
    }

    init(_ error: RegistryOpenError) { self.init(error.description) }
}

extension SQLiteError {
    /// True if the connection may be unfit for further use. A full disk is not a reason: reading
    /// goes on, and a new connection might not even read.
    var callsForReopening: Bool {
        isCorrupt || isReadOnly || cannotOpen || (isInputOutput && !isFull)
    }
}
