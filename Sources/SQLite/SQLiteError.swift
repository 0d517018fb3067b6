import CSQLite

/// The error of a call to SQLite ("Result and Error Codes" of its documentation).
public struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The primary result code.
    public let code: Int32
    /// The extended result code; its low byte is ``code``.
    public let extendedCode: Int32
    /// The `errno` of the system call behind it; 0 if there was none.
    public let systemError: Int32
    /// SQLite's words, which never hold a bound value.
    public let message: String

    public init(extendedCode: Int32, systemError: Int32 = 0, message: String) {
        code = extendedCode & 0xFF
        self.extendedCode = extendedCode
        self.systemError = systemError
        self.message = message
    }

    /// The value of SQLITE_IOERR_SHMMAP, which C defines by an expression.
    static let lostIndexCode = SQLITE_IOERR | 21 << 8
    /// A part of the log's index could not be read or written. It is not known if a write that
    /// meets this was done.
    static let lostIndex = SQLiteError(
        extendedCode: lostIndexCode,
        message: "the index of the log (-shm) cannot be read or written")

    public var isCorrupt: Bool { code == SQLITE_CORRUPT || code == SQLITE_NOTADB }
    /// True if the file is not a database at all, or an encrypted one.
    public var isNotADatabase: Bool { code == SQLITE_NOTADB }
    /// True if another connection holds the lock, and held it for the whole busy timeout.
    public var isBusy: Bool { code == SQLITE_BUSY || code == SQLITE_LOCKED }
    public var isFull: Bool { code == SQLITE_FULL || systemError == noSpaceLeft }
    public var isReadOnly: Bool { code == SQLITE_READONLY }
    public var cannotOpen: Bool { code == SQLITE_CANTOPEN }
    public var isInputOutput: Bool { code == SQLITE_IOERR }

    public var description: String {
        let cause = systemError == 0 ? "" : ": \(systemMessage(systemError))"
        return "\(message)\(cause) (SQLite \(extendedCode))"
    }
}

/// ENOSPC of Linux.
private let noSpaceLeft: Int32 = 28
