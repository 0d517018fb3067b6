import GatewayTesting
import KeyStore
import Redis
import RedisKeyStore
import Testing

/// The form in which a device's state lies in Redis, and its size.
@Suite(
    "Device states in Redis", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct RedisStateTests {}

extension RedisStateTests {
    /// The bytes of the highest counter, of the count of pairs and of the check.
    private static let shortest = 9

    private func state(of server: RedisServer) throws -> (name: String, byteCount: Int) {
        let name = try server.command("KEYS", "*:counter")
        return (name, try #require(Int(try server.command("STRLEN", name))))
    }

    @Test("grow by two bytes for eight counters with gaps up to a whole ring, and shrink again")
    func forms() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        func request(_ counter: UInt32, again: UInt64 = 0) -> CounterAdvance {
            bench.request(
                counter: counter, window: 1024, challenge: again << 32 | UInt64(counter))
        }
        // One of each eight is left out: in the byte of those before 8, in that of 8 to 15, ...
        var gaps: [UInt32] = []
        for byte in 0..<70 as Range<UInt32> {
            let counters = (max(byte * 8, 1)..<byte * 8 + 8).filter { $0 % 8 != byte % 7 + 1 }
            gaps.append(byte * 8 + byte % 7 + 1)
            // The gap of the last byte ends with it at the earliest.
            let verdicts = try bench.verdicts(counters.map { request($0) })
            #expect(verdicts.allSatisfy { $0 == .accepted }, "byte \(byte)")
            let last = try #require(counters.last)
            let pairs = Int(byte) + (gaps[Int(byte)] < last ? 1 : 0)
            let size = pairs < 64 ? Self.shortest + 2 * pairs : Self.shortest + 128
            #expect(try state(of: server).byteCount == size, "byte \(byte)")
        }
        let accepted = (1..<560 as Range<UInt32>).filter { !gaps.contains($0) }
        let again = try bench.verdicts(accepted.map { request($0, again: 1) })
        #expect(again.allSatisfy { $0 == .counterUsed })
        #expect(try bench.verdicts(gaps.map { request($0) }).allSatisfy { $0 == .accepted })
        #expect(try state(of: server).byteCount == Self.shortest)
        let late = try bench.verdicts((1..<560).map { request($0, again: 2) })
        #expect(late.allSatisfy { $0 == .counterUsed })
        // A leap beyond the ring leaves all below it unused.
        #expect(try bench.verdict(request(5000)) == .accepted)
        #expect(try state(of: server).byteCount == Self.shortest + 128)
        #expect(try bench.verdict(request(3977)) == .accepted)
        #expect(try bench.verdict(request(3976)) == .counterTooLow)
        #expect(try bench.verdict(request(3977, again: 3)) == .counterUsed)
    }

    /// Makes of a device's state what an earlier build would have written. ARGV: the highest
    /// counter, and one below it that was not accepted.
    private static let makeEarlier = """
        local highest, unused = tonumber(ARGV[1]), tonumber(ARGV[2])
        local buckets = string.sub(redis.call('GET', KEYS[1]), 6, -5)
        local ring = {}
        for at = 1, 128 do ring[at] = 255 end
        local at = math.floor(unused % 1024 / 8) + 1
        ring[at] = ring[at] - 2 ^ (unused % 8)
        local body = struct.pack('>I4', highest) .. string.char(unpack(ring)) .. buckets
        redis.call('SET', KEYS[1], body .. string.sub(redis.sha1hex(body), 1, 8))
        """

    private func expectKept(_ bench: RedisCounterBench, _ counter: UInt32) throws {
        func verdict(_ counter: UInt32, window: Int = 64, _ challenge: UInt64) throws
            -> CounterVerdict?
        {
            try bench.verdict(
                bench.request(counter: counter, window: window, challenge: challenge))
        }
        #expect(try verdict(counter, 101) == .counterUsed)
        #expect(try verdict(counter - 1, 102) == .counterUsed)
        #expect(try verdict(counter - 2, window: 1, 103) == .counterTooLow)
        #expect(try verdict(counter - 2, 104) == .accepted)
        #expect(try verdict(counter - 2, 105) == .counterUsed)
        #expect(try verdict(counter - 1023, window: 1024, 106) == .counterUsed)
        #expect(try verdict(counter - 1024, window: 1024, 107) == .counterTooLow)
        #expect(try verdict(counter + 1, 108) == .accepted)
        #expect(try verdict(counter, 109) == .counterUsed)
    }

    @Test("of an earlier build keep each counter and bucket, and get the present form")
    func earlier() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        let hour = 3_600_000_000
        let rates = [
            CounterRate(identity: 1, intervalMicroseconds: hour, depthMicroseconds: hour)
        ]
        let first = bench.request(counter: 1, challenge: 1, rates: rates)
        #expect(try bench.verdict(first) == .accepted)
        let name = try state(of: server).name
        try server.command("EVAL", Self.makeEarlier, "1", name, "4000", "3998")
        #expect(try state(of: server).byteCount == 4 + 128 + 32 + 8)
        let limited = bench.request(counter: 4001, challenge: 2, rates: rates)
        guard case .rateLimited = try bench.verdict(limited) else {
            Issue.record("the bucket is gone")
            return
        }
        try expectKept(bench, 4000)
        #expect(try state(of: server).byteCount == Self.shortest + 32)
        // The check is none that an earlier build takes for its own.
        let ends = try server.command(
            "EVAL",
            """
            local state = redis.call('GET', KEYS[1])
            return string.sub(redis.sha1hex(string.sub(state, 1, -9)), 1, 8)
                == string.sub(state, -8) and 1 or 0
            """, "1", name)
        #expect(ends == "0")
    }

    @Test("of an earlier build keep each counter in a cluster, too")
    func earlierInCluster() throws {
        let cluster = try RedisCluster(replicasPerMaster: 0)
        let bench = try RedisCounterBench(RedisCounterBench.configuration(cluster))
        try bench.run { bench.workers.allSatisfy(\.isWhole) }
        #expect(try bench.verdict(bench.request(counter: 1, challenge: 1)) == .accepted)
        let keeper = try cluster.keeper(ofSlot: RedisCounterBench.key(1).slot.number)
        let name = try state(of: keeper).name
        try keeper.command("EVAL", Self.makeEarlier, "1", name, "4000", "3998")
        try expectKept(bench, 4000)
    }

    @Test("take less than 250 bytes of a server's memory, with up to 25 pairs", arguments: [0, 25])
    func memory(pairCount: Int) throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        let counters = pairCount == 0 ? [1] : (1...UInt32(pairCount)).map { $0 * 8 }
        let verdicts = try bench.verdicts(
            counters.map { bench.request(counter: $0, challenge: UInt64($0)) })
        #expect(verdicts.allSatisfy { $0 == .accepted })
        let (name, byteCount) = try state(of: server)
        #expect(byteCount == Self.shortest + 2 * pairCount)
        func usedMemory() throws -> Int {
            let line = try server.command("INFO", "memory").split(whereSeparator: \.isNewline)
                .first { $0.hasPrefix("used_memory:") }
            return try #require(line.flatMap { Int($0.dropFirst("used_memory:".count)) })
        }
        // Table and names as a million would have them: just below a power of two.
        let total = 65_000
        let before = try usedMemory()
        let copy = """
            local state, life = redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1])
            for number = 1, tonumber(ARGV[1]) do
              local name = 'sallyport:{' .. string.format('%043d', number) .. '}:counter'
              redis.call('SET', name, state, 'PX', life)
            end
            """
        try server.command("EVAL", copy, "1", name, "\(total)")
        let each = (try usedMemory() - before) / total
        print("a device with \(pairCount) pairs takes \(each) bytes in Redis")
        #expect(each < 250)
    }
}
