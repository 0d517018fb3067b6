import COpenSSL

/// OpenSSL's error queue of this thread. What a call leaves there would be taken for the next
/// call's, also of another session: so it is emptied before and drained after.
enum TLSErrorQueue {
    static func clear() { ERR_clear_error() }

    /// The queued reasons, oldest first, behind `step`; empties the queue.
    static func drain(_ step: String) -> String {
        var reasons: [String] = []
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            if let text = unsafe ERR_reason_error_string(code) {
                reasons.append(unsafe String(cString: text))
            } else {
                reasons.append("error \(String(code, radix: 16))")
            }
        }
        let text = reasons.joined(separator: "; ")
        if step.isEmpty { return text }
        return reasons.isEmpty ? step : "\(step): \(text)"
    }

    /// The library's own number for the oldest reason, 0 where it is not libssl's.
    static var oldestReason: Int32 {
        let code = ERR_peek_error()
        return ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0
    }
}
