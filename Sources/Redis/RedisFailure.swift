public import EventLoop

/// The reason why a connection to Redis is not usable.
public enum RedisFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no such name, or the system refused or broke the connection.
    case unreachable(IOError)
    /// TLS failed; the values are the subject and the reason.
    case tls(String, String)
    case endedByServer
    case connectTimedOut
    /// A command had no answer in time, and later answers could not be matched.
    case commandTimedOut
    case protocolViolation(RedisProtocolError)
    /// The server answered a step of the handshake in a way that makes it unusable.
    case handshakeRefused(String)
    /// A command was refused in a way that calls for another connection, such as `READONLY`.
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
