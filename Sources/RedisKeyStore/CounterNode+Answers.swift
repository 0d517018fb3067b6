import KeyStore
import Redis

/// The meanings of a master's answers.
extension CounterNode {
    /// The outcome of one call.
    enum Outcome {
        case verdict(CounterVerdict)
        /// Nothing ran, because another server keeps the slot.
        case redirected(RedisRedirection)
        /// Nothing ran, because the slot is being moved.
        case tryAgain
        /// Nothing ran, because the cluster has lost servers.
        case clusterDown
    }

    /// The verdict on a call of the counter script that the server answered with an error.
    static func verdict(ofError line: String) -> CounterVerdict {
        switch RedisServerError(line) {
        case .noScript, .refused, .refusedByConnection: .unavailable
        // The refusal may be the script's own, before it wrote anything.
        case .other: ServerLife.isRefusal(line) ? .unavailable : .unknown
        }
    }

    /// The SHA-1 of a script that was loaded, 40 hexadecimal digits; nil for any other answer.
    static func digest(_ reply: RedisReply) -> String? {
        guard let text = reply.text, text.utf8.count == 40, text.allSatisfy(\.isHexDigit) else {
            return nil
        }
        return text
    }

    /// Makes a new connection after an answer that shows that this one lacks the script or the
    /// incarnation.
    func giveUp(on reply: RedisReply) {
        guard case .error(let line) = reply else { return dropForGarbage() }
        // A server that is busy or full has changed nothing; it is asked again soon.
        if RedisServerError(line) == .refused {
            complaints.ofLook = String(line.prefix(200))
            return tellRefusal(line)
        }
        retire(becauseOf: line)
    }

    /// Makes a new connection, once all commands in flight are answered, because of the server's
    /// words.
    func retire(becauseOf line: String) {
        connection?.retire(because: .refusedByServer(String(line.prefix(200))))
    }

    func dropForGarbage() {
        connection?.drop(because: .protocolViolation(.unexpectedReply))
    }
}
