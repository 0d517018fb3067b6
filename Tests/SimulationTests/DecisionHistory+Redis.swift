import AppAttestTesting
import GatewayTesting
import GatewayTokens

/// What happens to the Redis of a history.
extension DecisionHistory {
    func disturbRedis() throws {
        guard let redis else { return }
        var event: Event = [:]
        switch random.below(16) {
        case 0:
            try redis.ask("FLUSHALL")
            event["event"] = "redis_flush"
        case 1: event = try restart(redis)
        case 2...4: return try dump(redis)
        case 5:
            guard !dumps.isEmpty else { return }
            return try reload(redis, dumps.count - 1 - random.below(min(dumps.count, 2)))
        case 6:
            try redis.ask("DEBUG", "CHANGE-REPL-ID")
            event["event"] = "redis_history"
        case 7...8: event = ["event": "redis_evict", "evicted": try redis.evict()]
        case 9:
            // The count would not show a second time.
            guard !isReset else { return }
            isReset = true
            let evicted = try redis.evict()
            try redis.ask("CONFIG", "RESETSTAT")
            event = ["event": "redis_reset", "evicted": evicted]
        case 10...11: return try stepRedisClock()
        case 12:
            let index = random.below(devices.count)
            guard try redis.damage(devices[index].keyID) else { return }
            event = ["event": "redis_damage", "key": index]
        case 13: event = try mark(redis)
        case 14:
            try redis.ask("SCRIPT", "FLUSH")
            event["event"] = "redis_forget_scripts"
        default: return try turnRedis()
        }
        events.append(event)
        try settleAll()
    }

    func turnRedis() throws {
        guard let redis else { return }
        redis.setAway(!redis.isAway)
        events.append(["event": "redis_away", "away": redis.isAway])
        try settleAll()
    }

    private func restart(_ redis: RelayedRedis) throws -> Event {
        let dump = dumps.isEmpty || random.isOne(in: 2) ? nil : random.below(dumps.count)
        try redis.restart(from: dump.map { dumps[$0] })
        isReset = false
        var event: Event = ["event": "redis_restart", "loaded": try redis.loadedCount]
        if let dump { event["dump"] = dump }
        return event
    }

    /// Sometimes the dump is loaded again before anybody has looked at the server.
    private func dump(_ redis: RelayedRedis) throws {
        if random.isOne(in: 3) { events.append(try mark(redis)) }
        events.append(["event": "redis_dump", "id": dumps.count])
        dumps.append(try redis.server.dump())
        guard random.isOne(in: 2) else { return }
        // Or after all have looked, so that its record is older than what they saw.
        if random.isOne(in: 2) { try move(by: 1_000) }
        for _ in 0..<random.below(4) { try sendSigned() }
        // A call that should look and is refused for its key's mark has not looked.
        let revoked = random.isOne(in: 2) ? marked.min() : nil
        if revoked != nil { try move(by: 50) }
        try reload(redis, dumps.count - 1)
        if let revoked { try sendSigned(by: revoked) }
        for _ in 0..<2 { try sendAgain() }
    }

    private func reload(_ redis: RelayedRedis, _ dump: Int) throws {
        try redis.server.reload(dumps[dump])
        events.append(["event": "redis_reload", "dump": dump, "loaded": try redis.loadedCount])
        try settleAll()
    }

    /// By seconds, by more than goes unnoticed, or to the very end of what is remembered.
    private func stepRedisClock() throws {
        switch random.below(4) {
        case 0:
            // The newest challenge ends within a millisecond, and the gateways think that it does
            // not. The marks of those that were spent outlive them.
            let first = sent.count
            for _ in 0..<3 {
                try fetchChallenge()
                try sendSigned()
            }
            for _ in 0..<5 { try move(by: 19_000) }
            guard let end = challenges.last?.opened.expiresAt else { return }
            try stepRedisClock(by: Int(end - milliseconds - clockOffset) + 1 - random.below(3))
            for _ in 0..<2 { try sendSigned() }
            for (event, bytes) in sent[first..<first + 3] {
                try send(event, bytes, to: anyGateway)
            }
        case 1:
            // The counters of the device that came last are a month old.
            try sendSigned()
            try stepRedisClock(by: 2_592_000_000 + random.below(2))
            for _ in 0..<4 { try sendSigned() }
        case 2 where random.isOne(in: 4):
            // Each goes unnoticed, and both together do not.
            for _ in 0..<2 {
                try stepRedisClock(by: -4_000)
                try move(by: 1_000)
            }
        default:
            let steps = [
                -100_000, -10_000, -5_001, -5_000, -3_000, 3_000, 29_000, 30_000, 30_001, 40_000,
            ]
            try stepRedisClock(by: steps[random.below(steps.count)])
        }
    }

    private func stepRedisClock(by step: Int) throws {
        redisAhead += Int64(step)
        try setRedisClock()
        events.append(["event": "redis_clock", "milliseconds": step])
        try settleAll()
    }

    /// A mark is set by whoever revokes a key, and goes with the server's memory.
    private func mark(_ redis: RelayedRedis) throws -> Event {
        let index = random.below(devices.count)
        if marked.remove(index) == nil {
            marked.insert(index)
            try redis.mark(devices[index].keyID)
        } else {
            try redis.unmark(devices[index].keyID)
        }
        return ["event": "redis_mark", "key": index, "marked": marked.contains(index)]
    }
}
