import Redis

/// The servers that a configuration leads to at the moment. For commands, because it asks and
/// waits.
struct RedisDirectory {
    /// A single server, the master that Sentinels name, or the masters of a cluster.
    let masters: [RedisEndpoint]
    /// The map of slots, or nil outside of a cluster.
    let map: RedisSlotMap?

    init(_ configuration: RedisCounterConfiguration) throws(RedisFailure) {
        if configuration.isCluster {
            let map = try Self.map(configuration.connection)
            self.map = map
            masters = map.masters
        } else if let sentinel = configuration.sentinel {
            map = nil
            masters = [try Self.master(sentinel)]
        } else {
            map = nil
            masters = configuration.connection.endpoints
        }
    }

    /// The first answer of the servers, in turn, that `read` accepts.
    private static func first<Answer>(
        _ connection: RedisConfiguration, _ command: RedisCommand,
        _ read: (RedisReply, RedisEndpoint) -> Answer?
    ) throws(RedisFailure) -> Answer {
        var failure = RedisFailure.closed
        for endpoint in connection.endpoints {
            var single = connection
            single.endpoints = [endpoint]
            single.replyByteCountMax = max(single.replyByteCountMax, 16 * 1024 * 1024)
            do throws(RedisFailure) {
                let reply = try RedisDialogue(single).ask(command)
                if let answer = read(reply, endpoint) { return answer }
                var words = "the server's answer is not Redis'"
                if case .error(let line) = reply { words = String(line.prefix(200)) }
                if case .null = reply { words = "no master of this name is known" }
                failure = .handshakeRefused("\(endpoint): \(words)")
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private static func map(_ connection: RedisConfiguration) throws(RedisFailure) -> RedisSlotMap {
        try first(connection, RedisCommand("CLUSTER", "SLOTS")) { reply, endpoint in
            RedisSlotMap(reply, askedAt: endpoint)
        }
    }

    static func master(
        _ sentinel: RedisSentinelConfiguration
    ) throws(RedisFailure) -> RedisEndpoint {
        let command = RedisCommand("SENTINEL", "get-master-addr-by-name", sentinel.masterName)
        return try first(sentinel.connection, command) { reply, _ in
            guard case .array(let parts) = reply, parts.count == 2 else { return nil }
            return RedisEndpoint(host: parts[0].text, port: parts[1].text)
        }
    }
}
