import COpenSSL

/// OpenSSL's error queue of this thread.
///
/// Every call that reports through the queue starts with ``clear()``, so that what ``drain(_:)``
/// finds belongs to that call; whatever is left would confuse TLS on the same thread.
enum ErrorQueue {
    @inline(always)
    static func clear() { ERR_clear_error() }

    /// `step` with the queued reasons behind it, oldest first; empties the queue.
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
        return reasons.isEmpty ? step : step + " (" + reasons.joined(separator: "; ") + ")"
    }
}
