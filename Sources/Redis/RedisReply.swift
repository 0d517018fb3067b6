/// One reply of a Redis server (RESP2: "Redis serialization protocol specification").
public enum RedisReply: Hashable, Sendable {
    case simpleString(String)
    /// The whole line, such as `NOSCRIPT No matching script.`; see ``RedisServerError``.
    case error(String)
    case integer(Int64)
    case bulk([UInt8])
    case array([RedisReply])
    case null

    /// The bytes of a bulk string as text; nil for any other kind of reply.
    public var text: String? {
        guard case .bulk(let bytes) = self else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The meaning of an error reply for its command, by the reply's first word.
public enum RedisServerError: Hashable, Sendable {
    /// The script is not in the server's cache; nothing ran.
    case noScript
    /// Nothing ran, and this connection will not do better: the server is a replica, loads its
    /// data, or asks for authentication.
    case refusedByConnection
    /// Nothing ran; a later command on the same connection may succeed.
    case refused
    /// Any other error: the command may have run in part.
    case other

    /// Errors that a server reports before a command, or before a script's first write. Once a
    /// script has written, these conditions do not stop it any more ("Scripting with Lua",
    /// `script.c`).
    public init(_ line: String) {
        switch line.prefix(while: { $0 != " " }) {
        case "NOSCRIPT": self = .noScript
        case "READONLY", "LOADING", "MASTERDOWN", "NOAUTH", "MOVED": self = .refusedByConnection
        case "OOM", "MISCONF", "NOREPLICAS", "BUSY", "CLUSTERDOWN", "TRYAGAIN", "ASK", "NOPERM",
            "CROSSSLOT":
            self = .refused
        default: self = .other
        }
    }
}
