import Redis

/// Questions to a master beside its counters.
extension CounterNode {
    /// True if the master is connected and does not refuse requests.
    var isServing: Bool { isConnected && refusal == nil }

    /// Deletes a name without waiting for the answer. If that fails, the name expires by itself.
    func remove(_ name: [UInt8]) {
        var command = RedisCommand("DEL")
        command.append(name)
        connection?.send(command) { _ in }
    }

    /// Asks something about no counter. Nil if the outcome cannot be known.
    func ask(_ command: RedisCommand, reply: @escaping (RedisReply?) -> Void) {
        guard let connection, isConnected else { return reply(nil) }
        connection.send(command) { [weak self] outcome in
            guard case .reply(let answer) = outcome else { return reply(nil) }
            if case .error(let line) = answer { self?.tellRefusal(line) }
            reply(answer)
        }
    }
}
