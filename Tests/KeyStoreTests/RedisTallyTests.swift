import Bytes
import EventLoop
import GatewayTesting
import KeyStore
import Redis
import RedisKeyStore
import Telemetry
import Testing

/// What gateways count together for signals.
@Suite(
    "Shared tallies in Redis", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct RedisTallyTests {}

extension RedisTallyTests {
    private func tally(
        _ change: SharedTally.Change, name: UInt64 = 1, half: Int64 = 100
    ) -> SharedTally {
        SharedTally(
            name: Bytes16(word0: name, word1: 7), half: half, halfMilliseconds: 60_000,
            change: change)
    }

    private func counts(
        _ tally: SharedTally, _ bench: RedisCounterBench, worker: Int = 0
    ) throws -> SharedCounts? {
        var answer: SharedCounts??
        bench.workers[worker].tally(tally) { counts in
            answer = .some(counts)
            bench.loop.stop()
        }
        try bench.run { answer != nil }
        return answer ?? nil
    }

    @Test("events of all gateways add up, in this half of the window and the one before")
    func events() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server, workerCount: 2)
        for number in 1...3 {
            #expect(
                try counts(tally(.event), bench, worker: number % 2)
                    == .events(current: number, previous: 0))
        }
        #expect(try counts(tally(.event, half: 101), bench) == .events(current: 1, previous: 3))
        #expect(try counts(tally(.event, name: 2), bench) == .events(current: 1, previous: 0))
        #expect(try counts(tally(.event, half: 103), bench) == .events(current: 1, previous: 0))
        #expect(try counts(tally(.look), bench, worker: 1) == .events(current: 3, previous: 0))
        // Nothing stays for good.
        for name in try server.command("KEYS", "*signal*").split(separator: "\n") {
            let life = Int(try server.command("PTTL", String(name))) ?? 0
            #expect((1...120_000).contains(life), "\(name)")
        }
    }

    @Test("different things of all gateways are one sketch, the same as a gateway makes by itself")
    func distinct() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server, workerCount: 2)
        func add(
            _ hash: UInt64, worker: Int, half: Int64 = 100
        ) throws -> (current: [UInt8], previous: [UInt8]) {
            guard
                case .sketches(let current, let previous)? = try counts(
                    tally(.distinct(hash), half: half), bench, worker: worker)
            else {
                Issue.record("no sketch")
                return ([], [])
            }
            return (current, previous)
        }
        // The longest and the shortest runs of zeros, and things that share a register.
        var hashes: [UInt64] = [0, 1 << 63, 1 << 62 | 7, 0x100, 0x8000, 0x1_0000, .max, 0x1FF]
        hashes += (1...40).map { UInt64($0) &* 0x9E37_79B9_7F4A_7C15 }
        var sketch = DistinctSketch()
        for (number, hash) in hashes.enumerated() {
            _ = sketch.add(hash)
            #expect(try add(hash, worker: number % 2).current == sketch.bytes, "\(number)")
            #expect(try add(hashes[0], worker: 1).current == sketch.bytes, "\(number)")
        }
        #expect(sketch.bytes.count == 256)
        let next = try add(5, worker: 0, half: 101)
        #expect(next.previous == sketch.bytes && next.current == [5, 0, 0, 0, 0, 0, 0, 0])
        // What nobody here wrote is as if nothing was there.
        for nonsense in ["nonsens", String(repeating: "x", count: 264)] {
            for name in try server.command("KEYS", "*signal*").split(separator: "\n") {
                _ = try server.command("SET", String(name), nonsense)
            }
            #expect(try add(6, worker: 0).current == [6, 0, 0, 0, 0, 0, 0, 0])
        }
    }

    @Test("counters of a key are put together, whichever gateway accepts them, and half by half")
    func counters() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server, workerCount: 2)
        func accept(_ counter: UInt32, worker: Int = 0, half: Int64 = 100) throws -> [[UInt32]?] {
            guard
                case .counters(let current, let previous)? = try counts(
                    tally(.counter(counter), name: 5, half: half), bench, worker: worker)
            else { return [] }
            return [current, previous].map { span in
                span.map { [$0.base, $0.highest, $0.seenCount] }
            }
        }
        #expect(try accept(7) == [[6, 7, 1], nil])
        #expect(try accept(9, worker: 1) == [[6, 9, 2], nil])
        #expect(try accept(8) == [[6, 9, 3], nil])
        // The next half goes on where this one ended; a late one is of its half alone.
        #expect(try accept(12, worker: 1, half: 101) == [[9, 12, 1], [6, 9, 3]])
        #expect(try accept(5, half: 101) == [[9, 12, 2], [6, 9, 3]])
        #expect(try accept(.max, half: 101) == [[9, .max, 3], [6, 9, 3]])
        // After one without any it begins anew.
        #expect(try accept(500, half: 103) == [[499, 500, 1], nil])
        for name in try server.command("KEYS", "*signal*").split(separator: "\n") {
            let life = Int(try server.command("PTTL", String(name))) ?? 0
            #expect((1...120_000).contains(life), "\(name)")
            _ = try server.command("SET", String(name), "nonsense")
        }
        // What nobody here wrote is as if nothing was there.
        #expect(try accept(501, half: 103) == [[500, 501, 1], nil])
        for name in try server.command("KEYS", "*signal*").split(separator: "\n") {
            _ = try server.command("DEL", String(name))
            _ = try server.command("LPUSH", String(name), "x")
        }
        #expect(try accept(502, half: 103) == [])
    }

    @Test("what makes no sense, or a server that is gone, is no count")
    func unknown() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        #expect(try counts(tally(.event), bench) != nil)
        let name = try server.command("KEYS", "*signal*")
        _ = try server.command("SET", name, "nonsense")
        #expect(try counts(tally(.event), bench) == nil)
        _ = try server.command("DEL", name)
        _ = try server.command("LPUSH", name, "x")
        #expect(try counts(tally(.distinct(1)), bench) == nil)
        try server.kill()
        #expect(try counts(tally(.event), bench) == nil)
    }
}
