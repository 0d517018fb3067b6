import Bytes
import EventLoop
import GatewayTesting
import KeyStore
import Redis
import RedisKeyStore
import Testing

/// Counts of quotas that gateways share.
@Suite(
    "Counts of quotas in Redis", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct RedisQuotaTests {
    /// The whole hours since 1970, the same for all counts of a test.
    private let hours = WallClock.milliseconds() / 3_600_000
}

extension RedisQuotaTests {
    private func count(_ name: UInt64, shift: Int64 = 0) -> QuotaCount {
        let hour: Int64 = 3_600_000
        let first = (hours + shift) * hour
        return QuotaCount(
            name: Bytes16(word0: name &* 0x9E37_79B9_7F4A_7C15, word1: name),
            period: first..<first + 24 * hour)
    }

    @Test("charges of all gateways have the verdicts of a simple model", arguments: 0..<4)
    func model(_ seed: UInt64) throws {
        let server = try RedisServer()
        let gateways = try (0..<2).map { _ in try RedisCounterBench(server, workerCount: 2) }
        var generator = SeededGenerator(seed: seed)
        var model = QuotaModel()
        let counts = (0..<5).map { count($0) } + [count(0, shift: 1)]
        for step in 0..<600 {
            let gateway = gateways[Int.random(in: 0..<2, using: &generator)]
            let charge = QuotaModel.charge(counts, resets: 1, using: &generator)
            let verdict = try gateway.verdict(
                charge, worker: Int.random(in: 0..<2, using: &generator))
            #expect(verdict == model.make(charge), "seed \(seed), step \(step): \(charge)")
        }
        // Each count is one name with an end.
        let names = try server.command("KEYS", "*:quota:*").split(separator: "\n")
        #expect(names.count <= counts.count)
        for name in names {
            let life = Int(try server.command("PTTL", String(name))) ?? 0
            #expect((1...27 * 3_600_000).contains(life), "\(name)")
        }
    }

    @Test("sums are exact up to the greatest one, and a count that is full grants nothing")
    func saturation() throws {
        let gateway = try RedisCounterBench(RedisServer())
        let limit = Int.max
        func verdict(_ change: QuotaCharge.Change, limit: Int = limit) throws -> QuotaVerdict? {
            try gateway.verdict(QuotaCharge(change, of: count(1), limit: limit))
        }
        #expect(try verdict(.add(QuotaSums.sumMax - 1)) == .granted(used: QuotaSums.sumMax - 1))
        #expect(try verdict(.take(2)) == .exhausted(used: QuotaSums.sumMax - 1))
        #expect(try verdict(.take(1)) == .granted(used: QuotaSums.sumMax))
        #expect(try verdict(.add(.max)) == .granted(used: QuotaSums.sumMax))
        #expect(try verdict(.look) == .exhausted(used: QuotaSums.sumMax))
        #expect(try verdict(.giveBack(.max)) == .granted(used: 0))
        #expect(try verdict(.look, limit: 5) == .exhausted(used: 0))
    }

    @Test("a look at an unused count leaves nothing in Redis")
    func look() throws {
        let server = try RedisServer()
        let gateway = try RedisCounterBench(server)
        #expect(
            try gateway.verdict(QuotaCharge(.look, of: count(1), limit: 1)) == .granted(used: 0))
        #expect(
            try gateway.verdict(QuotaCharge(.take(2), of: count(1), limit: 1))
                == .exhausted(used: 0))
        #expect(try server.command("KEYS", "*:quota:*").isEmpty)
    }

    @Test("a value that nothing here wrote is replaced by what is known, and a list is refused")
    func damage() throws {
        let server = try RedisServer()
        let gateway = try RedisCounterBench(server)
        let take = QuotaCharge(.take(3), of: count(1), limit: 10)
        #expect(try gateway.verdict(take) == .granted(used: 3))
        let name = try server.command("KEYS", "*:quota:*")
        try server.command("SET", name, "nonsense")
        #expect(try gateway.verdict(take) == .granted(used: 6))
        try server.command("DEL", name)
        try server.command("LPUSH", name, "x")
        #expect(try gateway.verdict(take) == .unknown)
        try server.command("DEL", name)
        #expect(try gateway.verdict(take) == .granted(used: 9))
    }

    @Test("what is given back or added while Redis is away comes with the next charge, once")
    func away() throws {
        let server = try RedisServer()
        let gateway = try RedisCounterBench(server)
        let charge = { QuotaCharge($0, of: self.count(1), limit: 10) }
        #expect(try gateway.verdict(charge(.take(8))) == .granted(used: 8))
        let dump = try server.dump()
        try server.kill()
        try gateway.run { !gateway.worker.isConnected }
        #expect(try gateway.verdict(charge(.take(1))) == .unavailable)
        #expect(try gateway.verdict(charge(.giveBack(5))) == .unknown)
        #expect(try gateway.verdict(charge(.add(4))) == .unknown)
        try server.restart(from: dump)
        try gateway.connect()
        #expect(try gateway.verdict(charge(.take(3))) == .granted(used: 10))
        #expect(try gateway.verdict(charge(.look)) == .exhausted(used: 10))
    }

    @Test("a server that lost everything is told what the gateways know, before they charge")
    func flushed() throws {
        let server = try RedisServer()
        let gateways = try (0..<2).map { _ in try RedisCounterBench(server) }
        // Each knows of another count alone.
        for (index, gateway) in gateways.enumerated() {
            let take = QuotaCharge(.take(10), of: count(UInt64(index)), limit: 10)
            #expect(try gateway.verdict(take) == .granted(used: 10))
        }
        try server.restartEmpty()
        for gateway in gateways {
            try gateway.run { !gateway.workers.contains(where: \.isConnected) }
            try gateway.connect()
            // What it knows goes ahead of this.
            try gateway.verdict(QuotaCharge(.look, of: count(99), limit: 1))
        }
        for (index, gateway) in gateways.reversed().enumerated() {
            let take = QuotaCharge(.take(1), of: count(UInt64(index)), limit: 10)
            #expect(try gateway.verdict(take) == .exhausted(used: 10))
        }
    }

    @Test("two gateways go through a failover that forgets charges, and stay within the limit")
    func failover() throws {
        let set = try RedisSentinelSet(replicaCount: 1)
        let gateways = try (0..<2).map { _ in
            try RedisCounterBench(RedisCounterBench.configuration(set), workerCount: 2)
        }
        for gateway in gateways { try gateway.connect() }
        let limit = 60
        let take = QuotaCharge(.take(1), of: count(1), limit: limit)
        var grantedCount = 0
        func charge(times: Int) throws {
            for number in 0..<times {
                let verdict = try gateways[number % 2].verdict(take, worker: number / 2 % 2)
                if case .granted = verdict { grantedCount += 1 }
            }
        }
        try charge(times: 10)
        try set.servers[0].waitForReplica()
        // What follows reaches the primary alone.
        try set.servers[0].leaveBehind([set.servers[1]])
        try charge(times: 30)
        #expect(grantedCount == 40)
        // These are in flight when it dies.
        let inFlightCount = 8
        var replyCounts = [0, 0]
        for number in 0..<inFlightCount {
            let gateway = gateways[number % 2]
            gateway.worker.charge(take) { verdict in
                if case .granted = verdict { grantedCount += 1 }
                replyCounts[number % 2] += 1
                gateway.loop.stop()
            }
        }
        try set.servers[0].kill()
        set.servers[1].resume()
        try set.waitForMaster(other: set.servers[0])
        for (index, gateway) in gateways.enumerated() {
            try gateway.run { replyCounts[index] == inFlightCount / 2 }
        }
        let end = ContinuousClock.now + RedisCounterBench.patience
        var isExhausted = false
        while !isExhausted {
            try #require(ContinuousClock.now < end)
            try charge(times: 4)
            let look = QuotaCharge(.look, of: count(1), limit: limit)
            if case .exhausted = try gateways[0].verdict(look),
                case .exhausted = try gateways[1].verdict(look)
            {
                isExhausted = true
            }
            for gateway in gateways { gateway.pause() }
        }
        #expect(grantedCount <= limit + inFlightCount)
        #expect(grantedCount >= limit - inFlightCount)
        // Nothing that was granted is merged away.
        let look = QuotaCharge(.look, of: count(1), limit: limit)
        guard case .exhausted(let used) = try gateways[0].verdict(look) else {
            Issue.record("not exhausted any more")
            return
        }
        #expect((grantedCount...grantedCount + inFlightCount).contains(used))
    }

    @Test(
        "what was granted in all lives of Redis adds up, whichever gateway comes back first",
        arguments: 0..<4)
    func lives(_ seed: UInt64) throws {
        let server = try RedisServer()
        let gateways = try (0..<3).map { _ in try RedisCounterBench(server) }
        var generator = SeededGenerator(seed: seed)
        let counts = (0..<2).map { count($0) }
        var model = QuotaModel()
        var copies = [try server.dump()]
        var lifeCount = 1
        /// The gateways that have not met the present life yet.
        var away: Set<Int> = []
        func verdict(_ charge: QuotaCharge, by number: Int) throws -> QuotaVerdict? {
            let gateway = gateways[number]
            if away.remove(number) != nil {
                try gateway.run { !gateway.worker.isConnected }
                try gateway.connect()
            }
            return try gateway.verdict(charge)
        }
        for step in 0..<150 {
            switch Int.random(in: 0..<15, using: &generator) {
            case 0: copies.append(try server.dump())
            case 1 where lifeCount < 6:
                // A replica takes over that has not heard the last charges.
                try server.kill()
                let index = Int.random(in: 0..<copies.count, using: &generator)
                try server.restart(from: copies[index])
                lifeCount += 1
                away = Set(gateways.indices)
            default:
                let number = Int.random(in: 0..<gateways.count, using: &generator)
                let change = QuotaModel.charge(counts, using: &generator)
                // With a limit that is never met: no gateway knows yet what others were granted.
                let charge = QuotaCharge(change.change, of: change.count, limit: 1_000_000)
                guard case .granted = try verdict(charge, by: number) else {
                    Issue.record("seed \(seed), step \(step): \(charge)")
                    return
                }
                _ = model.make(charge)
            }
        }
        for count in counts {
            let look = QuotaCharge(.look, of: count, limit: 1_000_000)
            // Each brings along what it knows.
            for number in gateways.indices { _ = try verdict(look, by: number) }
            #expect(try verdict(look, by: 0) == model.make(look), "seed \(seed)")
        }
    }

    @Test("a count of many lives stays short, and keeps all that a gateway knows")
    func manyLives() throws {
        let server = try RedisServer()
        let gateway = try RedisCounterBench(server)
        let lifeCount = 11
        for life in 1...lifeCount {
            let take = QuotaCharge(.take(2), of: count(1), limit: 100)
            #expect(try gateway.verdict(take) == .granted(used: 2 * life))
            guard life < lifeCount else { break }
            try server.restartEmpty()
            try gateway.run { !gateway.worker.isConnected }
            try gateway.connect()
        }
        let name = try server.command("KEYS", "*:quota:*")
        #expect(try server.command("GET", name).split(separator: " ").count == 3 * 8)
    }

    @Test("a life that has no place in what a gateway knows is not charged twice")
    func strangeLife() throws {
        let server = try RedisServer()
        let old = try RedisCounterBench(server)
        let new = try RedisCounterBench(server)
        func take(_ gateway: RedisCounterBench) throws -> QuotaVerdict? {
            try gateway.verdict(QuotaCharge(.take(2), of: count(1), limit: 1000))
        }
        for _ in 0..<8 {
            _ = try take(old)
            try server.restartEmpty()
            try old.run { !old.worker.isConnected }
            try old.connect()
        }
        // It knows nothing of these lives, and charges in the ninth before the other one does.
        try new.run { !new.worker.isConnected }
        try new.connect()
        for number in 1...20 { #expect(try take(new) == .granted(used: 2 * number)) }
        for gateway in [old, new, old, new, old] { _ = try take(gateway) }
        guard case .granted(let used) = try take(new) else {
            Issue.record("exhausted")
            return
        }
        #expect(used <= 8 * 2 + 20 * 2 + 6 * 2)
    }

    @Test("what gateways could not send to a Redis that they have not met adds up")
    func beforeRedis() throws {
        let server = try RedisServer()
        let gateways = try (0..<2).map { _ in
            try RedisCounterBench(RedisCounterBench.configuration(port: server.port))
        }
        for gateway in gateways {
            let add = QuotaCharge(.add(3), of: count(1), limit: 10)
            #expect(try gateway.verdict(add) == .unknown)
        }
        let look = QuotaCharge(.look, of: count(1), limit: 10)
        for gateway in gateways {
            try gateway.connect()
            _ = try gateway.verdict(look)
        }
        #expect(try gateways[0].verdict(look) == .granted(used: 6))
    }

    @Test("counts of a cluster follow their slots")
    func cluster() throws {
        let cluster = try RedisCluster()
        let gateway = try RedisCounterBench(RedisCounterBench.configuration(cluster))
        try gateway.run { gateway.worker.isWhole }
        let take = QuotaCharge(.take(1), of: count(1), limit: 5)
        #expect(try gateway.verdict(take) == .granted(used: 1))
        let slot = RedisSlot(ofTag: Base64.encodeURLBytes(take.count.name.array)).number
        let source = try cluster.keeper(ofSlot: slot)
        let masters = try cluster.servers.filter {
            try $0.command("ROLE").hasPrefix("master")
        }
        let target = try #require(masters.first { $0.port != source.port })
        try cluster.move(slot: slot, from: source, to: target)
        #expect(try gateway.verdict(take) == .granted(used: 2))
        // Half moved: the count is at the other master, which is asked once.
        try cluster.beginMove(ofSlot: slot, from: target, to: source)
        try cluster.moveKeys(ofSlot: slot, from: target, to: source)
        #expect(try gateway.verdict(take) == .granted(used: 3))
    }

    @Test("a count takes some 200 bytes")
    func memory() throws {
        let server = try RedisServer()
        func byteCount() throws -> Int {
            let line = try server.command("INFO", "memory").split(whereSeparator: \.isNewline)
                .first { $0.hasPrefix("used_memory:") }
            return try #require(line.flatMap { Int($0.dropFirst("used_memory:".count)) })
        }
        let gateway = try RedisCounterBench(server)
        try gateway.verdict(QuotaCharge(.take(1), of: count(0), limit: 9))
        let before = try byteCount()
        let total = 20_000
        for start in stride(from: 0, to: total, by: 500) {
            try gateway.verdicts(
                (1...500).map {
                    QuotaCharge(.take(123_456), of: count(UInt64(start + $0)), limit: 1_000_000)
                })
        }
        let each = (try byteCount() - before) / total
        print("a count takes \(each) bytes in Redis")
        #expect(each < 300)
    }
}

extension RedisCounterBench {
    /// Makes charges one after another at once, and waits for all verdicts.
    @discardableResult
    func verdicts(_ charges: [QuotaCharge], worker: Int = 0) throws -> [QuotaVerdict] {
        var verdicts = [QuotaVerdict?](repeating: nil, count: charges.count)
        for (index, charge) in charges.enumerated() {
            workers[worker].charge(charge) { [loop] verdict in
                #expect(verdicts[index] == nil)
                verdicts[index] = verdict
                loop.stop()
            }
        }
        try run { !verdicts.contains(nil) }
        return verdicts.compactMap { $0 }
    }

    @discardableResult
    func verdict(_ charge: QuotaCharge, worker: Int = 0) throws -> QuotaVerdict? {
        try verdicts([charge], worker: worker).first
    }
}
