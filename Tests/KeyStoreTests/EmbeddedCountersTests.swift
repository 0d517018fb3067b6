import Attestation
import Bytes
import EventLoop
import GatewayTesting
import KeyStore
import Testing

/// One store with a clock and a supply of challenges.
struct EmbeddedBench {
    var generator: SeededGenerator
    var counters: EmbeddedCounters
    /// The monotonic clock; the store's own is ahead of it by ``base``.
    var now: Int64 = 1_000_000
    static let base: Int64 = 1_700_000_000_000
    static let boot = Bytes16(word0: 1, word1: 2)

    init(
        seed: UInt64 = 1, resuming snapshot: EmbeddedSnapshot? = nil,
        _ change: (inout EmbeddedCounters.Options) -> Void = { _ in }
    ) {
        var options = EmbeddedCounters.Options()
        change(&options)
        generator = SeededGenerator(seed: seed)
        counters = EmbeddedCounters(
            options: options, resuming: snapshot, clock: Self.clock(now))
    }

    static func clock(_ now: Int64, boot: Bytes16? = boot) -> EmbeddedClock {
        EmbeddedClock(base: base, boot: boot, nowMilliseconds: now)
    }

    func use(
        _ id: Bytes16, life: Int64 = 120_000, of incarnation: Incarnation? = nil
    ) -> ChallengeUse {
        let moment = counters.moment(nowMilliseconds: now)
        return ChallengeUse(
            id: id, incarnation: incarnation ?? moment.incarnation,
            expiresAt: moment.milliseconds + life)
    }

    func snapshot() -> EmbeddedSnapshot { counters.snapshot(nowMilliseconds: now) }

    mutating func advance(
        _ keyID: KeyID, _ counter: UInt32, window: Int = 1, challenge: ChallengeUse? = nil,
        floor: UInt32 = 0
    ) -> CounterVerdict {
        let challenge = challenge ?? use(generator.bytes16())
        return counters.advance(
            CounterAdvance(
                keyID: keyID, .counter(counter), windowSize: window, challenge: challenge,
                floor: floor),
            nowMilliseconds: now)
    }
}

extension EmbeddedSnapshot {
    /// All parts, read.
    var parts: [[UInt8]] {
        get throws {
            var parts: [[UInt8]] = []
            for index in 0..<partCount { parts.append(try part(index)) }
            return parts
        }
    }

    /// The same with other parts.
    func with(_ parts: [[UInt8]]) -> EmbeddedSnapshot {
        EmbeddedSnapshot(incarnation: incarnation, clock: clock, partCount: parts.count) {
            parts[$0]
        }
    }
}

@Suite("Embedded counters")
struct EmbeddedCountersTests {}

extension EmbeddedCountersTests {
    @Test("RFC 4303 section 3.4.3: the window, case by case")
    func windowTable() {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        let steps: [(counter: UInt32, window: Int, expected: CounterVerdict)] = [
            (0, 64, .counterTooLow), (1, 64, .accepted), (1, 64, .counterUsed),
            // Above the right edge: accepted, the edge moves.
            (100, 64, .accepted), (100, 64, .counterUsed),
            // Inside and not seen; the left edge is 100 - 63.
            (37, 64, .accepted), (37, 64, .counterUsed), (36, 64, .counterTooLow),
            (99, 64, .accepted), (99, 64, .counterUsed),
            // The same table serves a narrower and a strict route.
            (98, 2, .counterTooLow), (98, 1, .counterTooLow), (98, 3, .accepted),
            // A wider window reaches further back, but nothing accepted comes again.
            (36, 65, .accepted), (2, 1024, .accepted), (1, 1024, .counterUsed),
            // A jump by more than everything remembered.
            (1_000_000, 64, .accepted), (100, 1024, .counterTooLow),
            (998_976, 1024, .counterTooLow),
            (998_977, 1024, .accepted), (998_977, 1024, .counterUsed), (999_000, 1024, .accepted),
            (.max, 1, .accepted), (.max, 1024, .counterUsed), (.max - 1, 1, .counterTooLow),
            (.max - 1, 2, .accepted), (.max - 1023, 1024, .accepted),
            (.max - 1024, 1024, .counterTooLow),
            (.max - 1, 4096, .counterUsed), (.max - 1022, 0, .counterTooLow),
        ]
        for (number, step) in steps.enumerated() {
            let verdict = bench.advance(key, step.counter, window: step.window)
            #expect(verdict == step.expected, "step \(number): \(step)")
        }
    }

    @Test("the floor holds where nothing is known, and once it was raised")
    func floor() {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        #expect(bench.advance(key, 50, window: 64, floor: 50) == .counterTooLow)
        #expect(bench.advance(key, 51, window: 64, floor: 50) == .accepted)
        // Another worker's cache may hold an older floor.
        #expect(bench.advance(key, 40, window: 64, floor: 3) == .counterTooLow)
        #expect(bench.advance(key, 60, window: 64, floor: 50) == .accepted)
        #expect(bench.advance(key, 55, window: 64, floor: 57) == .counterTooLow)
        #expect(bench.advance(key, 55, window: 64, floor: 50) == .accepted)
    }

    @Test("a floor that lies far below, and one that overtakes the highest counter")
    func farFloor() {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        #expect(bench.advance(key, 10, window: 1024, floor: 5) == .accepted)
        #expect(bench.advance(key, 200_000, window: 1024, floor: 5) == .accepted)
        #expect(bench.advance(key, 199_000, window: 1024, floor: 5) == .accepted)
        #expect(bench.advance(key, 198_900, window: 1024, floor: 5) == .counterTooLow)
        #expect(bench.advance(key, 199_900, window: 1024, floor: 199_500) == .accepted)
        #expect(bench.advance(key, 199_500, window: 1024, floor: 5) == .counterTooLow)
        #expect(bench.advance(key, 199_501, window: 1024, floor: 5) == .accepted)
        #expect(bench.advance(key, 300_100, window: 1024, floor: 300_000) == .accepted)
        #expect(bench.advance(key, 300_000, window: 1024, floor: 5) == .counterTooLow)
        #expect(bench.advance(key, 300_001, window: 1024, floor: 5) == .accepted)
        #expect(bench.advance(key, .max, window: 1024, floor: 5) == .accepted)
        #expect(bench.advance(key, .max - 1023, window: 1024, floor: 5) == .accepted)
        #expect(bench.advance(key, .max - 1024, window: 1024, floor: 5) == .counterTooLow)
    }

    @Test("a spent challenge is named before a used counter, and each key may use one once")
    func challenges() {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        let other = bench.generator.keyID()
        let challenge = bench.use(bench.generator.bytes16())
        #expect(bench.advance(key, 1, challenge: challenge) == .accepted)
        #expect(bench.advance(key, 1, challenge: challenge) == .replayed)
        #expect(bench.advance(key, 2, challenge: challenge) == .challengeSpent)
        #expect(bench.advance(key, 1) == .counterUsed)
        #expect(bench.advance(other, 1, challenge: challenge) == .accepted)
        #expect(bench.advance(key, 2) == .accepted)
        // Used with another challenge, and the challenge with another counter.
        #expect(bench.advance(key, 2, challenge: challenge) == .challengeSpent)
    }

    @Test("a refused request changes nothing")
    func refusalsChangeNothing() {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        let fresh = bench.use(bench.generator.bytes16())
        #expect(bench.advance(key, 5) == .accepted)
        #expect(bench.advance(key, 5, challenge: fresh) == .counterUsed)
        #expect(bench.advance(key, 6, challenge: fresh) == .accepted)
        let unknown = bench.generator.keyID()
        let before = bench.counters.keyCount
        #expect(bench.advance(unknown, 3, floor: 3) == .counterTooLow)
        #expect(bench.counters.keyCount == before)
        let old = bench.use(bench.generator.bytes16(), of: Incarnation(1))
        #expect(bench.advance(key, 7, challenge: old) == .incarnationChanged)
        #expect(bench.advance(key, 7) == .accepted)
    }

    @Test("eight threads with the same assertion: exactly one is accepted", arguments: [1, 64])
    func race(_ window: Int) throws {
        let counters = EmbeddedCounters(clock: EmbeddedBench.clock(0))
        var generator = SeededGenerator(seed: 5)
        let keys = (0..<4).map { _ in generator.keyID() }
        let rounds = (1...500).map { round in
            CounterAdvance(
                keyID: keys[round % 4], .counter(UInt32(round)), windowSize: window,
                challenge: ChallengeUse(
                    id: generator.bytes16(), incarnation: counters.incarnation,
                    expiresAt: EmbeddedBench.base + 1000),
                floor: 0)
        }
        let accepted = Locked([Int](repeating: 0, count: rounds.count))
        let threads = try (0..<8).map { number in
            try Thread.spawn(name: "racer \(number)") {
                for (round, advance) in rounds.enumerated() {
                    let verdict = counters.advance(advance, nowMilliseconds: 1)
                    if verdict == .accepted { accepted.withLock { $0[round] += 1 } }
                }
            }
        }
        for thread in threads { thread.join() }
        // Whoever tries a round first has tried all before it, so none is refused to everyone.
        #expect(accepted.withLock { $0.allSatisfy { $0 == 1 } })
    }

    @Test("idle keys are forgotten after every challenge has expired")
    func eviction() {
        var bench = EmbeddedBench {
            $0.challengeLifeMilliseconds = 1000; $0.graceMilliseconds = 500
        }
        let keys = (0..<1000).map { _ in bench.generator.keyID() }
        func use() -> ChallengeUse { bench.use(bench.generator.bytes16(), life: 1000) }
        for (number, key) in keys.enumerated() {
            let challenge = use()
            #expect(bench.advance(key, UInt32(number + 1), challenge: challenge) == .accepted)
        }
        bench.now += 1499
        bench.counters.sweep(nowMilliseconds: bench.now)
        #expect(bench.counters.keyCount == 1000)
        #expect(bench.advance(keys[0], 2) == .accepted)
        // Ends are kept in whole seconds, rounded up.
        bench.now += 501
        bench.counters.sweep(nowMilliseconds: bench.now)
        #expect(bench.counters.keyCount == 1)
        #expect(bench.advance(keys[999], 1000, floor: 1000) == .counterTooLow)
        #expect(bench.advance(keys[999], 1001, floor: 1000) == .accepted)
    }

    @Test("a challenge is accepted until it ends, by a clock that no thread sets back")
    func ends() {
        var bench = EmbeddedBench()
        let key = bench.generator.keyID()
        let first = bench.use(bench.generator.bytes16(), life: 1000)
        let second = bench.use(bench.generator.bytes16(), life: 1000)
        bench.now += 999
        #expect(bench.advance(key, 1, challenge: first) == .accepted)
        bench.now += 1
        #expect(bench.advance(key, 2, challenge: second) == .challengeExpired)
        // Its mark may be gone; a thread that stood still comes with an older time.
        bench.now -= 500
        #expect(bench.advance(key, 1, challenge: first) == .challengeExpired)
        #expect(bench.advance(key, 2, challenge: second) == .challengeExpired)
    }

    @Test("a challenge that outlives the setting is remembered for its own life")
    func longLife() {
        var bench = EmbeddedBench {
            $0.challengeLifeMilliseconds = 1000; $0.graceMilliseconds = 0
        }
        let key = bench.generator.keyID()
        let long = bench.use(bench.generator.bytes16(), life: 3_600_000)
        #expect(bench.advance(key, 1, challenge: long) == .accepted)
        for _ in 0..<3600 {
            bench.now += 1000
            let challenge = bench.use(bench.generator.bytes16(), life: 500)
            #expect(bench.advance(bench.generator.keyID(), 1, challenge: challenge) == .accepted)
            let again = bench.advance(key, 1, challenge: long)
            #expect(again == (bench.now < 4_600_000 ? .replayed : .challengeExpired))
        }
    }

    @Test("requests alone keep memory bounded, without a sweep")
    func boundedMemory() {
        var bench = EmbeddedBench {
            $0.challengeLifeMilliseconds = 100; $0.graceMilliseconds = 0
        }
        var keyCountMax = 0
        var spentCountMax = 0
        for number in 0..<20_000 {
            bench.now += 2
            let key = bench.generator.keyID()
            let challenge = bench.use(bench.generator.bytes16(), life: 100)
            #expect(bench.advance(key, 1, challenge: challenge) == .accepted)
            guard number.isMultiple(of: 50) else { continue }
            keyCountMax = max(keyCountMax, bench.counters.keyCount)
            spentCountMax = max(spentCountMax, bench.counters.spentCount)
        }
        #expect(keyCountMax < 1000)
        #expect(spentCountMax < 1000)
    }

    @Test("a full memory of challenges refuses, and one key cannot fill it")
    func spentBounds() {
        var bench = EmbeddedBench { $0.spentCountPerKeyMax = 10 }
        let key = bench.generator.keyID()
        for counter in 1...10 { #expect(bench.advance(key, UInt32(counter)) == .accepted) }
        #expect(bench.advance(key, 11) == .full)
        #expect(bench.advance(bench.generator.keyID(), 1) == .accepted)
        bench.now += 400_000
        #expect(bench.advance(key, 11) == .accepted)

        var small = EmbeddedBench { $0.spentCountMax = 32 * 2 }
        let verdicts = (0..<200).map { _ in small.advance(small.generator.keyID(), 1) }
        #expect(verdicts.filter { $0 == .accepted }.count <= 64)
        #expect(verdicts.contains(.full))
    }

    @Test("a key and its challenge take 64 bytes")
    func memory() throws {
        try OwnProcess.run(Self.self) {
            var bench = EmbeddedBench()
            let before = try OwnProcess.residentByteCount()
            // Just below a power of two in each shard, as with a million.
            let total = 250_000
            var acceptedCount = 0
            for _ in 0..<total {
                let keyID = bench.generator.keyID()
                if bench.advance(keyID, 1, window: 1024) == .accepted { acceptedCount += 1 }
            }
            let byteCount = try OwnProcess.residentByteCount() - before
            try #require(acceptedCount == total)
            print("\(byteCount) bytes for \(total) keys")
            #expect(byteCount / total < 64)
        }
    }
}
