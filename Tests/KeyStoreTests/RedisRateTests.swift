import Attestation
import GatewayTesting
import KeyStore
import RedisKeyStore
import Testing

@Suite(
    "Rates of a key in Redis", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct RedisRateTests {}

extension RedisRateTests {
    /// `burst` tokens, of which none comes back while a test runs.
    private func rate(_ identity: UInt64, burst: Int) -> CounterRate {
        let hour = 3_600_000_000
        return CounterRate(
            identity: identity, intervalMicroseconds: hour, depthMicroseconds: hour * burst)
    }

    @Test("let a burst through, over all gateways, and refuse the rest with the time to wait")
    func burst() throws {
        let bench = try RedisCounterBench(RedisServer(), workerCount: 4)
        let requests = (1...10).map {
            bench.request(
                counter: $0, window: 64, challenge: UInt64($0), rates: [rate(1, burst: 3)])
        }
        let verdicts = try bench.verdicts(requests)
        #expect(verdicts.filter { $0 == .accepted }.count == 3)
        let waits = verdicts.compactMap { verdict -> Int? in
            if case .rateLimited(0, let wait) = verdict { wait } else { nil }
        }
        #expect(waits.count == 7)
        #expect(waits.allSatisfy { (3_500_000...3_600_000).contains($0) })
        // Another key has buckets of its own.
        let other = bench.request(key: 2, counter: 1, challenge: 1, rates: [rate(1, burst: 3)])
        #expect(try bench.verdict(other) == .accepted)
    }

    @Test("refuse without using counter, challenge or another bucket")
    func allOrNothing() throws {
        let bench = try RedisCounterBench(RedisServer())
        let (wide, narrow) = (rate(1, burst: 3), rate(2, burst: 1))
        func request(_ counter: UInt32, _ rates: [CounterRate]) -> CounterAdvance {
            bench.request(counter: counter, challenge: UInt64(counter), rates: rates)
        }
        #expect(try bench.verdict(request(1, [wide, narrow])) == .accepted)
        guard case .rateLimited(1, _) = try bench.verdict(request(2, [wide, narrow])) else {
            Issue.record("not limited by the second")
            return
        }
        // The same request passes where the limit does not hold.
        #expect(try bench.verdict(request(2, [wide])) == .accepted)
        #expect(try bench.verdict(request(3, [wide])) == .accepted)
        guard case .rateLimited(0, _) = try bench.verdict(request(4, [wide])) else {
            Issue.record("not limited by the first")
            return
        }
        // A route without limits keeps the buckets of others.
        #expect(try bench.verdict(request(4, [])) == .accepted)
        guard case .rateLimited = try bench.verdict(request(5, [wide])) else {
            Issue.record("the bucket is gone")
            return
        }
        // A replay is named before the rate.
        #expect(try bench.verdict(request(4, [wide])) == .replayed)
    }

    @Test("fill again with time")
    func refill() throws {
        let bench = try RedisCounterBench(RedisServer())
        let quick = CounterRate(
            identity: 9, intervalMicroseconds: 1000, depthMicroseconds: 1000)
        for counter in 1...50 as ClosedRange<UInt32> {
            var verdict: CounterVerdict?
            repeat {
                verdict = try bench.verdict(
                    bench.request(counter: counter, challenge: UInt64(counter), rates: [quick]))
            } while verdict != .accepted
        }
    }

    @Test(
        "keep what was taken, and no more, when a clock that was ahead is set back",
        .enabled(if: SteppedClock.isPossible))
    func clockAhead() throws {
        let directory = try ScratchDirectory()
        let clock = try SteppedClock("redis", in: directory)
        let bench = try RedisCounterBench(RedisServer(launcher: clock.launcher))
        var counter: UInt32 = 0
        func next() throws -> CounterVerdict? {
            counter += 1
            var verdict: CounterVerdict?
            // A step of the clock ends the incarnation.
            repeat {
                verdict = try bench.verdict(
                    bench.request(
                        counter: counter, challenge: UInt64(counter), rates: [rate(1, burst: 2)]))
            } while verdict == .incarnationChanged
            return verdict
        }
        #expect(try next() == .accepted)
        try clock.set(10 * 3600)
        #expect(try next() == .accepted)
        try clock.set(0)
        #expect(try next() == .accepted)
        guard case .rateLimited(0, let wait) = try next() else {
            Issue.record("the limit is gone")
            return
        }
        #expect((3_000_000...3_600_000).contains(wait))
    }

    @Test("have no more tokens after a reload that lowers the burst below what was taken")
    func loweredBurst() throws {
        let bench = try RedisCounterBench(RedisServer())
        func verdict(_ counter: UInt32, burst: Int) throws -> CounterVerdict? {
            try bench.verdict(
                bench.request(
                    counter: counter, challenge: UInt64(counter), rates: [rate(1, burst: burst)]))
        }
        for counter in 1...5 as ClosedRange<UInt32> {
            #expect(try verdict(counter, burst: 10) == .accepted)
        }
        guard case .rateLimited(0, let wait) = try verdict(6, burst: 2) else {
            Issue.record("the bucket was filled")
            return
        }
        #expect((3_000_000...3_600_000).contains(wait))
        // The limit as it was goes on where it was.
        #expect(try verdict(6, burst: 6) == .accepted)
        guard case .rateLimited = try verdict(7, burst: 6) else {
            Issue.record("the bucket was filled")
            return
        }
    }

    @Test("are kept for eight limits, and the state of a device stays small")
    func bound() throws {
        let server = try RedisServer()
        let bench = try RedisCounterBench(server)
        for counter in 1...40 as ClosedRange<UInt32> {
            let rates = [rate(UInt64(counter), burst: 5), rate(UInt64(counter) << 32, burst: 5)]
            let request = bench.request(
                counter: counter, challenge: UInt64(counter), rates: rates)
            #expect(try bench.verdict(request) == .accepted)
        }
        let name = try server.command("KEYS", "*:counter")
        // Of 16 bytes: the time at which the buckets were written, and these.
        let byteCount: Int = 4 + 1 + (1 + 8) * 16 + 4
        #expect(try server.command("STRLEN", name) == "\(byteCount)")
    }
}
