import CPostgres
import Glibc

/// Begins a connection; nil only if there is no memory. Like all of this file, it keeps libpq's C
/// strings and buffers out of the rest of the module.
func startConnection(_ keywords: [(name: String, value: String)]) -> OpaquePointer? {
    // No copy can be missing here: libpq takes a name that is NULL for the end of the list, and a
    // value that is NULL for its own default, of `sslmode` too.
    let texts = keywords.flatMap { [$0.name, $0.value] }
    var storage: [CChar] = []
    storage.reserveCapacity(texts.reduce(0) { $0 + $1.utf8.count + 1 })
    for text in texts {
        storage += text.utf8.lazy.map { CChar(bitPattern: $0) }
        storage.append(0)
    }
    return unsafe storage.withUnsafeMutableBufferPointer { storage in
        guard let first = storage.baseAddress else { return nil }
        // The texts include the password.
        defer { unsafe explicit_bzero(first, storage.count) }
        var start = unsafe UnsafePointer(first)
        let places = unsafe texts.map { text -> UnsafePointer<CChar>? in
            defer { unsafe start += text.utf8.count + 1 }
            return unsafe start
        }
        let even = unsafe stride(from: 0, to: places.count, by: 2)
        let names = unsafe even.map { unsafe places[$0] } + [nil]
        let values = unsafe even.map { unsafe places[$0 + 1] } + [nil]
        return unsafe PQconnectStartParams(names, values, 0)
    }
}

/// An attribute of a connection over TLS.
func attribute(_ name: String, of handle: OpaquePointer) -> String {
    guard let value = unsafe PQsslAttribute(handle, name) else { return "" }
    return unsafe String(cString: value)
}

/// Queues one request. False if the connection has failed.
func send(_ request: PostgresRequest, on handle: OpaquePointer) -> Bool {
    var storage: [UInt8] = []
    var places: [Range<Int>?] = []
    for value in request.values {
        guard let bytes = value.binaryForm else {
            places.append(nil)
            continue
        }
        places.append(storage.count..<storage.count + bytes.count)
        storage += bytes
    }
    // Empty values need an address too, because without one they would mean NULL.
    storage.append(0)
    let lengths = places.map { Int32($0?.count ?? 0) }
    let formats = [Int32](repeating: 1, count: places.count)
    let count = Int32(places.count)
    return unsafe storage.withUnsafeBytes { bytes in
        let pointers = unsafe places.map { place -> UnsafePointer<CChar>? in
            unsafe place.flatMap { place in
                unsafe bytes.baseAddress?.advanced(by: place.lowerBound)
                    .assumingMemoryBound(to: CChar.self)
            }
        }
        switch request.kind {
        case .prepared(let name):
            return unsafe PQsendQueryPrepared(handle, name, count, pointers, lengths, formats, 1)
                == 1
        case .statement(let sql):
            return unsafe PQsendQueryParams(
                handle, sql, count, nil, pointers, lengths, formats, 1) == 1
        case .preparation(let name, let sql):
            return unsafe PQsendPrepare(handle, name, sql, 0, nil) == 1
        }
    }
}

/// Copies the content of a result; nil for the mark of a synchronisation.
func read(_ result: OpaquePointer) -> PostgresOutcome? {
    switch unsafe PQresultStatus(result) {
    case PGRES_TUPLES_OK: return .rows(unsafe rows(of: result))
    case PGRES_COMMAND_OK:
        let count = unsafe String(cString: PQcmdTuples(result))
        return .done(
            rowCount: Int(count) ?? 0, tag: unsafe String(cString: PQcmdStatus(result)))
    case PGRES_PIPELINE_ABORTED: return .skipped
    case PGRES_PIPELINE_SYNC: return nil
    default: return .failed(unsafe error(of: result))
    }
}

private func rows(of result: OpaquePointer) -> PostgresRows {
    let columnCount = unsafe PQnfields(result)
    var cells: [[UInt8]?] = []
    for row in 0..<(unsafe PQntuples(result)) {
        for column in 0..<columnCount {
            guard unsafe PQgetisnull(result, row, column) == 0 else {
                cells.append(nil)
                continue
            }
            let count = Int(unsafe PQgetlength(result, row, column))
            let bytes = unsafe UnsafeRawBufferPointer(
                start: PQgetvalue(result, row, column), count: count)
            cells.append(unsafe [UInt8](bytes))
        }
    }
    return PostgresRows(columnCount: Int(columnCount), cells: cells)
}

private func error(of result: OpaquePointer) -> PostgresServerError {
    let field = { (code: Character) -> String? in
        let number = Int32(code.asciiValue ?? 0)
        return unsafe PQresultErrorField(result, number).map { unsafe String(cString: $0) }
    }
    return PostgresServerError(
        state: field("C") ?? "08006",
        message: plainText(
            field("M") ?? (unsafe String(cString: PQresultErrorMessage(result)))))
}

/// The server's warning; nil if `notice` is less severe. A notice without a severity may be a
/// warning whose parts libpq had no memory for.
func warning(_ notice: OpaquePointer) -> PostgresServerError? {
    // Of the two forms of the severity, this is the one that is not translated.
    let severity = Int32(UInt8(ascii: "V"))
    if let word = unsafe PQresultErrorField(notice, severity),
        unsafe String(cString: word) != "WARNING"
    {
        return nil
    }
    return unsafe error(of: notice)
}

/// libpq's words on one line, shortened for a log.
func plainText(_ text: String) -> String {
    let words = text.split { $0 == "\n" || $0 == "\r\n" || $0 == "\t" }
    return String(words.joined(separator: " ").prefix(400))
}

extension PostgresFailure {
    /// Parses libpq's words about an attempt to connect: `...FATAL:  28P01: text` if the server
    /// refused (in the verbose form of its messages), else words of libpq's own.
    init(connecting text: String) {
        let lines = text.split(separator: "\n").filter {
            !$0.hasPrefix("LOCATION:") && !$0.hasPrefix("\tLOCATION:")
        }
        let plain = plainText(lines.joined(separator: "\n"))
        let words = plain.split(separator: " ")
        let code = words.firstIndex { word in
            word.utf8.count == 6 && word.utf8.last == 0x3A
                && word.utf8.dropLast().allSatisfy {
                    (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                }
                && word.utf8.contains { (0x30...0x39).contains($0) }
        }
        guard let code else {
            self = .unreachable(plain.isEmpty ? "no connection" : plain)
            return
        }
        self = .refusedByServer(
            PostgresServerError(
                state: String(words[code].dropLast()),
                message: words[(code + 1)...].joined(separator: " ")))
    }
}
