import Redis

/// Questions to a master beside its counters.
extension CounterNode {
    /// True if the master is connected and does not refuse requests.
    var isServing: Bool { isConnected && refusal == nil }

    /// Deletes the mark of a spent challenge without waiting for the answer. If that fails, it
    /// expires by itself.
    func removeSpentMark(_ names: CounterNames) {
        var command = RedisCommand("DEL")
        layout.append(names, .spend, to: &command)
        connection?.send(command) { _ in }
    }

    /// Asks something about no counter. `isAsking`: the slot is being moved here.
    func ask(
        _ command: RedisCommand, isAsking: Bool = false, reply: @escaping (RedisOutcome) -> Void
    ) {
        guard let connection, isConnected else { return reply(.unavailable) }
        if isAsking { connection.send(RedisCommand("ASKING")) { _ in } }
        connection.send(command) { [self] outcome in
            if case .reply(.error(let line)) = outcome { settleAskError(line) }
            reply(outcome)
        }
    }

    private func settleAskError(_ line: String) {
        // The cluster follows it.
        if isCluster, RedisRedirection(line, askedAt: endpoint) != nil { return }
        if RedisServerError(line) == .refusedByConnection {
            retire(becauseOf: line)
        } else {
            tellRefusal(line)
        }
    }
}
