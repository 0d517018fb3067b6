public import EventLoop

/// The server's refusal of one statement ("PostgreSQL Error Codes" of its documentation).
public struct PostgresServerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The SQLSTATE, five characters.
    public let state: String
    /// The first line of the server's message; it holds no bound value.
    public let message: String

    public init(state: String, message: String) {
        self.state = state
        self.message = message
    }

    public var description: String {
        // A session of our own prepares each statement once, so these codes mean that it reached
        // another session.
        let isAnothersSession = state == "26000" || state == "42P05"
        let remedy = isAnothersSession ? "; a pooler such as PgBouncer needs pool_mode=session" : ""
        return "\(message) (SQLSTATE \(state)\(remedy))"
    }

    /// True if a later attempt on the same connection will not do better: the server is read-only
    /// (25006), shuts down (57P..), or has lost the prepared statements (26000, 0A000).
    public var callsForReconnecting: Bool {
        ["25006", "26000", "0A000"].contains(state) || state.hasPrefix("57P")
            || state.hasPrefix("08")
    }
}

/// The reason why a connection has failed, or was not made.
public enum PostgresFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The server cannot be reached, in libpq's words.
    case unreachable(String)
    case unresolved(IOError)
    /// The server refused the connection, for a reason with a code.
    case refusedByServer(PostgresServerError)
    /// The server answered in a way that makes it unusable.
    case unfit(String)
    case lost(String)
    case connectTimedOut
    /// A run had no answer in time; its effect is unknown.
    case runTimedOut
    case protocolViolation
    case closed

    public var description: String {
        switch self {
        case .unreachable(let text), .unfit(let text): text
        case .unresolved(let error): error.description
        case .refusedByServer(let error): error.description
        case .lost(let text): "the connection was lost: \(text)"
        case .connectTimedOut: "no connection in time"
        case .runTimedOut: "no answer in time"
        case .protocolViolation: "the server's answers do not match what was asked"
        case .closed: "closed"
        }
    }

    /// True if waiting does not help because the operator must change something: codes of class 28
    /// (who may log in), 3D (no such database) and 42501 (no privilege).
    public var isPermanent: Bool {
        switch self {
        case .refusedByServer(let error):
            error.state.hasPrefix("28") || error.state.hasPrefix("3D") || error.state == "42501"
        default: false
        }
    }
}
