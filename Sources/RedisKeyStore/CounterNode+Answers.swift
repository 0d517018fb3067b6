import KeyStore
import Redis

/// What the answers of a master mean.
extension CounterNode {
    /// The outcome of one call.
    enum Outcome {
        case verdict(CounterVerdict)
        /// Nothing ran: another server keeps the slot.
        case redirected(RedisRedirection)
        /// Nothing ran: the slot is half moved.
        case tryAgain
        /// Nothing ran: the cluster has lost servers.
        case clusterDown
    }

    /// The verdict of a call of the counter script that the server answered with an error.
    static func verdict(ofError line: String) -> CounterVerdict {
        switch RedisServerError(line) {
        case .noScript, .refused, .refusedByConnection: .unavailable
        // The script's own refusal, before it wrote anything.
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
}
