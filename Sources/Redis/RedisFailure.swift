public import EventLoop

/// Why a connection to Redis is not usable.
public enum RedisFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// No such name, or the system refused or broke the connection.
    case unreachable(IOError)
    /// The subject of a TLS failure, and the reason for it.
    case tls(String, String)
    case endedByServer
    case connectTimedOut
    /// A command had no answer in time; what came later could not be matched.
    case commandTimedOut
    case protocolViolation(RedisProtocolError)
    /// The server answered a step of the handshake in a way that makes it unusable.
    case handshakeRefused(String)
    /// A command was refused in a way that calls for another connection, e.g. `READONLY`.
    case refusedByServer(String)
    case closed

    public var description: String {
        switch self {
        case .unreachable(let error): error.description
        case .tls(let subject, let text): "\(subject): TLS: \(text)"
        case .endedByServer: "the server ended the connection"
        case .connectTimedOut: "no connection in time"
        case .commandTimedOut: "no answer in time"
        case .protocolViolation(.malformed(let text)): "the answer is not Redis' protocol: \(text)"
        case .protocolViolation(.replyTooLong(let byteCountMax)):
            "an answer is longer than \(byteCountMax) bytes"
        case .protocolViolation(.unexpectedReply): "an answer came that was not asked for"
        case .handshakeRefused(let text): text
        case .refusedByServer(let text): "the server refused: \(text)"
        case .closed: "closed"
        }
    }
}
