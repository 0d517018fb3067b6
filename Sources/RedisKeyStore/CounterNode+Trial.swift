import Redis

/// Tries if a master runs the counter script. A look cannot tell, because a user may have the right
/// to one and not to the other.
extension CounterNode {
    /// The words of the last refusals. Each is forgotten when the refused action succeeds.
    struct Complaints {
        var ofLook: String?
        var ofTrial: String?
        var words: String? { ofLook ?? ofTrial }
    }

    /// Has the script run without effect.
    func tryScript(on connection: RedisConnection) {
        guard let scriptDigest else { return }
        connection.send(CounterScript.trial(digest: scriptDigest, record: record)) {
            [self] outcome in
            if case .reply(let reply) = outcome { take(trial: reply) }
        }
    }

    private func take(trial reply: RedisReply) {
        guard case .error(let line) = reply else {
            complaints.ofTrial = nil
            return
        }
        switch RedisServerError(line) {
        case .noScript: loadScript()
        // The look has met the same refusal, and ends the connection.
        case .refusedByConnection: break
        case .other where !RightsInquiry.isNeeded(for: line): break
        case .refused, .other:
            complaints.ofTrial = String(line.prefix(200))
            tellRefusal(line)
        }
    }
}
