import COpenSSL

/// OpenSSL's error queue of this thread, also for the targets that use OpenSSL beside this one.
///
/// Every call that reports through the queue starts with ``clear()``, so that the errors that
/// ``drain(_:)`` finds belong to that call. Errors that are left would be taken for those of the
/// next call, even of another TLS session on the same thread.
package enum ErrorQueue {
    package static func clear() { ERR_clear_error() }

    /// Returns `step` with the queued reasons behind it; empties the queue.
    package static func drain(_ step: String) -> String {
        let text = drainReasons()
        return text.isEmpty ? step : "\(step) (\(text))"
    }

    /// Returns the queued reasons, oldest first; empties the queue.
    package static func drainReasons() -> String {
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
        return reasons.joined(separator: "; ")
    }

    /// True if a PEM reader stopped because only other text, or nothing, was left; empties the
    /// queue then.
    package static func isEndOfPEM() -> Bool {
        let code = ERR_peek_last_error()
        guard ERR_GET_LIB(code) == ERR_LIB_PEM, ERR_GET_REASON(code) == PEM_R_NO_START_LINE else {
            return false
        }
        clear()
        return true
    }
}
