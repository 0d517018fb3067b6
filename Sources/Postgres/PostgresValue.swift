/// A parameter of a statement. All are sent in PostgreSQL's binary form, so nothing is quoted.
public enum PostgresValue: Hashable, Sendable {
    case null
    case bytes([UInt8])
    case text(String)
    /// A `bigint`; a statement that needs another type casts it.
    case integer(Int64)

    /// The value in binary form, or nil for NULL.
    var binaryForm: [UInt8]? {
        switch self {
        case .null: nil
        case .bytes(let bytes): bytes
        case .text(let text): Array(text.utf8)
        case .integer(let number):
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        }
    }
}

extension PostgresValue {
    public init(_ text: String?) { self = text.map(PostgresValue.text) ?? .null }
    public init(_ number: Int64?) { self = number.map(PostgresValue.integer) ?? .null }
    public init(_ bytes: [UInt8]?) { self = bytes.map(PostgresValue.bytes) ?? .null }
}

/// One message to the server, with one outcome.
public struct PostgresRequest: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case prepared(name: String)
        case statement(sql: String)
        case preparation(name: String, sql: String)
    }

    let kind: Kind
    let values: [PostgresValue]

    /// Runs a statement that the connection has prepared.
    public static func prepared(_ name: String, _ values: PostgresValue...) -> PostgresRequest {
        PostgresRequest(kind: .prepared(name: name), values: values)
    }

    public static func prepared(_ name: String, _ values: [PostgresValue]) -> PostgresRequest {
        PostgresRequest(kind: .prepared(name: name), values: values)
    }

    /// Runs one statement once.
    public static func statement(_ sql: String, _ values: PostgresValue...) -> PostgresRequest {
        PostgresRequest(kind: .statement(sql: sql), values: values)
    }

    public static func statement(_ sql: String, _ values: [PostgresValue]) -> PostgresRequest {
        PostgresRequest(kind: .statement(sql: sql), values: values)
    }

    /// Has the server prepare a statement under a name of this connection.
    public static func prepare(_ name: String, _ sql: String) -> PostgresRequest {
        PostgresRequest(kind: .preparation(name: name, sql: sql), values: [])
    }
}

/// The outcome of one request.
public enum PostgresOutcome: Hashable, Sendable {
    case rows(PostgresRows)
    /// Done, with the number of rows and the server's command tag (`COMMIT`, `INSERT 0 1`).
    case done(rowCount: Int, tag: String)
    case failed(PostgresServerError)
    /// The request was not tried, because an earlier one of the same run failed.
    case skipped

    public var rows: PostgresRows? {
        if case .rows(let rows) = self { rows } else { nil }
    }

    /// The number of rows; 0 for anything but `done`.
    public var rowCount: Int {
        if case .done(let rowCount, _) = self { rowCount } else { 0 }
    }
}

/// Rows as the server sent them, in binary form.
public struct PostgresRows: Hashable, Sendable {
    public let count: Int
    let columnCount: Int
    let cells: [[UInt8]?]

    public init(columnCount: Int, cells: [[UInt8]?]) {
        self.columnCount = columnCount
        self.cells = cells
        count = columnCount == 0 ? 0 : cells.count / columnCount
    }

    /// The bytes of a column, or nil for NULL.
    public func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
        precondition(column < columnCount, "a column that was not asked for")
        return cells[row * columnCount + column]
    }

    /// The text of a column, or nil for NULL and for invalid UTF-8.
    public func text(_ row: Int, _ column: Int) -> String? {
        bytes(row, column).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The number in a column of type `smallint`, `integer` or `bigint`; a `boolean` is 0 or 1. Nil
    /// for NULL.
    public func integer(_ row: Int, _ column: Int) -> Int64? {
        guard let bytes = bytes(row, column), let first = bytes.first, bytes.count <= 8 else {
            return nil
        }
        let isNegative = bytes.count > 1 && first & 0x80 != 0
        return bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
    }
}
