import GatewayTesting
import KeyStore
import RedisKeyStore
import Testing

/// Device states that somebody else has written to, with a real server.
@Suite(
    "Redis counters with damaged states", .enabled(if: RedisServer.isInstalled),
    .timeLimit(.minutes(30)))
struct RedisDamageTests {}

extension RedisDamageTests {
    @Test("heal a damaged state at the counter that found it, and accept no counter up to there")
    func damagedState() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        #expect(try bench.verdict(bench.request(counter: 7, challenge: 1)) == .accepted)
        let key = try server.command("KEYS", "*:counter")
        var counter: UInt32 = 10
        for rubbish in ["rubbish", "", String(repeating: "x", count: 131)] {
            try server.command("SET", key, rubbish)
            func request(_ counter: UInt32, floor: UInt32 = 0) -> CounterAdvance {
                bench.request(
                    counter: counter, window: 1024, challenge: 1_000_000 + UInt64(counter),
                    floor: floor)
            }
            // Whether it was used cannot be known, nor whether one below it was.
            #expect(try bench.verdict(request(counter)) == .stateHealed)
            #expect(try bench.verdict(request(counter)) == .counterUsed)
            #expect(try bench.verdict(request(counter - 1)) == .counterUsed)
            #expect(try bench.verdict(request(counter + 2)) == .accepted)
            #expect(try bench.verdict(request(counter + 1)) == .accepted)
            counter += 10
        }
        // One that lies below the floor heals nothing.
        try server.command("SET", key, "rubbish")
        #expect(
            try bench.verdict(bench.request(counter: 50, challenge: 3, floor: 60))
                == .counterTooLow)
        #expect(try server.command("GET", key) == "rubbish")
        #expect(bench.worker.isConnected)
        #expect(try bench.verdict(bench.request(key: 2, counter: 2, challenge: 2)) == .accepted)
        // A state of another type counts as none, and is written over.
        try server.command("DEL", key)
        try server.command("LPUSH", key, "x")
        #expect(try bench.verdict(bench.request(counter: 200, challenge: 2)) == .accepted)
    }

    /// What becomes of a state, in Lua.
    private static let damages = [
        // The highest counter there is; the whole past accepted, or nothing of it.
        "string.rep(string.char(255), 4) .. string.sub(state, 5)",
        "string.sub(state, 1, 4) .. string.rep(string.char(0), #state - 4)",
        "string.rep(string.char(255), #state)",
        "string.rep(string.char(0), #state)",
        // Cut short or made longer by a bucket; with another end.
        "string.sub(state, 1, #state - 16)", "state .. string.rep('x', 16)",
        "string.sub(state, 1, #state - 1) .. 'x'",
        // Without its check.
        "string.sub(state, 1, #state - 4)",
        "string.rep(string.char(255), 132)",
    ]

    @Test(
        "heal a state that is damaged inside at the counter that found it, whatever it says",
        arguments: damages)
    func damageInside(damage: String) throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        let rates = [CounterRate(identity: 1, intervalMicroseconds: 1, depthMicroseconds: 1000)]
        #expect(
            try bench.verdict(bench.request(counter: 7, challenge: 1, rates: rates)) == .accepted)
        let key = try server.command("KEYS", "*:counter")
        try server.command(
            "EVAL",
            """
            local state = redis.call('GET', KEYS[1])
            local damaged = \(damage)
            assert(damaged ~= state)
            redis.call('SET', KEYS[1], damaged)
            """, "1", key)
        func request(_ counter: UInt32) -> CounterAdvance {
            bench.request(counter: counter, window: 1024, challenge: 100 + UInt64(counter))
        }
        #expect(try bench.verdict(request(10)) == .stateHealed)
        #expect(try bench.verdict(request(10)) == .counterUsed)
        #expect(try bench.verdict(request(9)) == .counterUsed)
        #expect(try bench.verdict(request(12)) == .accepted)
        #expect(try bench.verdict(request(11)) == .accepted)
    }

    /// Counters after which a state has no pair, some pairs, and the whole ring.
    @Test(
        "notice damage to any byte of a device state",
        arguments: [([1], 9), ([2, 12, 22], 15), ([5000], 137)] as [([UInt32], Int)])
    func damageToAnyByte(counters: [UInt32], byteCount: Int) throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        for counter in counters {
            let request = bench.request(counter: counter, challenge: UInt64(counter))
            #expect(try bench.verdict(request) == .accepted)
        }
        let key = try server.command("KEYS", "*:counter")
        try server.command("COPY", key, "whole")
        #expect(try server.command("STRLEN", key) == "\(byteCount)")
        var counter: UInt32 = 6000
        for index in 1...byteCount {
            try server.command(
                "EVAL",
                """
                local state, index = redis.call('GET', KEYS[2]), tonumber(ARGV[1])
                redis.call('SET', KEYS[1], state)
                local byte = bit.bxor(string.byte(state, index), 1)
                redis.call('SETRANGE', KEYS[1], index - 1, string.char(byte))
                """, "2", key, "whole", "\(index)")
            counter += 2
            let found = bench.request(counter: counter, challenge: UInt64(counter))
            #expect(try bench.verdict(found) == .stateHealed, "byte \(index)")
            let next = bench.request(counter: counter + 1, challenge: UInt64(counter) + 1)
            #expect(try bench.verdict(next) == .accepted, "byte \(index)")
        }
    }
}
