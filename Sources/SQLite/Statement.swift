public import Bytes
import CSQLite

/// A compiled statement: bind, step, read columns, reset. Parameters count from 1, columns from 0.
@safe
public final class Statement {
    private let handle: OpaquePointer
    private let connection: Connection

    init(_ connection: Connection, _ sql: String) throws(SQLiteError) {
        var prepared: OpaquePointer?
        let status = unsafe sqlite3_prepare_v3(
            connection.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard status == SQLITE_OK else {
            throw unsafe lastError(of: connection.handle, status: status)
        }
        guard let handle = unsafe prepared else {
            throw SQLiteError(extendedCode: SQLITE_MISUSE, message: "an empty statement")
        }
        unsafe self.handle = handle
        self.connection = connection
    }

    deinit { unsafe sqlite3_finalize(handle) }

    // MARK: running

    /// Goes to the next row; false if there is none. A failed statement is reset.
    public func step() throws(SQLiteError) -> Bool {
        let status = unsafe sqlite3_step(handle)
        let error: SQLiteError
        if status != SQLITE_ROW, status != SQLITE_DONE {
            error = unsafe lastError(of: connection.handle, status: status)
        } else if connection.isIndexLost {
            error = .lostIndex
        } else {
            return status == SQLITE_ROW
        }
        unsafe sqlite3_reset(handle)
        throw error
    }

    /// Runs the statement to its end and prepares it for the next use.
    public func run() throws(SQLiteError) {
        while try step() {}
        reset()
    }

    /// Prepares the statement for the next use and forgets the bound values.
    public func reset() {
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
    }

    // MARK: parameters

    public func bind(_ parameter: Int32, _ value: Int64) throws(SQLiteError) {
        try check(unsafe sqlite3_bind_int64(handle, parameter, value))
    }

    public func bind(_ parameter: Int32, _ value: Int64?) throws(SQLiteError) {
        if let value { try bind(parameter, value) } else { try bindNull(parameter) }
    }

    public func bind(_ parameter: Int32, text: String?) throws(SQLiteError) {
        guard var text else { return try bindNull(parameter) }
        let status = text.withUTF8 { bytes in
            // An empty string may have no address, which SQLite would take for NULL.
            unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
                let start = unsafe characters.baseAddress ?? emptyText
                return unsafe sqlite3_bind_text64(
                    handle, parameter, start, UInt64(characters.count), transient,
                    UInt8(SQLITE_UTF8))
            }
        }
        try check(status)
    }

    public func bind(_ parameter: Int32, blob: [UInt8]?) throws(SQLiteError) {
        guard let blob else { return try bindNull(parameter) }
        let status = unsafe blob.withUnsafeBytes { bytes in
            unsafe bindBlob(parameter, bytes)
        }
        try check(status)
    }

    public func bind(_ parameter: Int32, blob: Bytes32) throws(SQLiteError) {
        let words = (
            blob.word0.bigEndian, blob.word1.bigEndian, blob.word2.bigEndian, blob.word3.bigEndian
        )
        let status = unsafe withUnsafeBytes(of: words) { bytes in
            unsafe bindBlob(parameter, bytes)
        }
        try check(status)
    }

    public func bind(_ parameter: Int32, blob: Bytes16) throws(SQLiteError) {
        let words = (blob.word0.bigEndian, blob.word1.bigEndian)
        let status = unsafe withUnsafeBytes(of: words) { bytes in
            unsafe bindBlob(parameter, bytes)
        }
        try check(status)
    }

    public func bindNull(_ parameter: Int32) throws(SQLiteError) {
        try check(unsafe sqlite3_bind_null(handle, parameter))
    }

    private func bindBlob(_ parameter: Int32, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard let start = bytes.baseAddress, unsafe !bytes.isEmpty else {
            return unsafe sqlite3_bind_zeroblob(handle, parameter, 0)
        }
        return unsafe sqlite3_bind_blob64(
            handle, parameter, start, UInt64(bytes.count), transient)
    }

    private func check(_ status: Int32) throws(SQLiteError) {
        guard status == SQLITE_OK else {
            throw unsafe lastError(of: connection.handle, status: status)
        }
    }

    // MARK: columns

    public func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// The number in a column; 0 for NULL.
    public func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

    /// The text of a column, or nil for NULL. Broken UTF-8 is repaired.
    public func text(_ column: Int32) -> String? {
        guard let start = unsafe sqlite3_column_text(handle, column) else { return nil }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        let bytes = unsafe UnsafeBufferPointer(start: start, count: count)
        return unsafe String(decoding: bytes, as: UTF8.self)
    }

    /// The bytes of a column, or nil for NULL.
    public func blob(_ column: Int32) -> [UInt8]? {
        guard !isNull(column) else { return nil }
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
    }

    /// The 32 bytes of a column. Nil unless it holds exactly that many.
    public func bytes32(_ column: Int32) -> Bytes32? {
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return nil }
        let count = Int(unsafe sqlite3_column_bytes(handle, column))
        let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
        guard count == Bytes32.byteCount else { return nil }
        let word = { (offset: Int) in
            unsafe UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        return Bytes32(word0: word(0), word1: word(8), word2: word(16), word3: word(24))
    }
}

/// Tells SQLite to copy bound values.
private var transient: sqlite3_destructor_type {
    unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}

private nonisolated(unsafe) let emptyText: UnsafePointer<CChar> = {
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
    unsafe text.initialize(to: 0)
    return unsafe UnsafePointer(text)
}()
