import Attestation
import Bytes
import EventLoop
import KeyStore
import Testing

/// The plainest store that obeys the rules: it remembers everything for ever.
private struct NaiveStore {
    struct Key {
        var accepted: Set<UInt32> = []
        var floor: UInt32 = 0
        var highest: UInt32 { max(floor, accepted.max() ?? 0) }
    }

    var keys: [KeyID: Key] = [:]
    var spent: [Pair: UInt32] = [:]
    var incarnation: Incarnation
    var now: Int64 = 0

    struct Pair: Hashable {
        let keyID: KeyID
        let challenge: Bytes16
    }

    mutating func advance(_ advance: CounterAdvance) -> CounterVerdict {
        if advance.challenge.incarnation != incarnation { return .incarnationChanged }
        if advance.challenge.expiresAt <= now { return .challengeExpired }
        let pair = Pair(keyID: advance.keyID, challenge: advance.challenge.id)
        if let mark = spent[pair] {
            return mark == advance.uniqueness.mark ? .replayed : .challengeSpent
        }
        var key = keys[advance.keyID] ?? Key()
        key.floor = max(key.floor, advance.floor)
        if let counter = advance.uniqueness.counter {
            if counter <= key.floor { return .counterTooLow }
            let distance = Int(key.highest) - Int(counter)
            if distance >= 1024 { return .counterTooLow }
            if key.accepted.contains(counter) { return .counterUsed }
            if distance >= max(1, advance.windowSize) { return .counterTooLow }
            key.accepted.insert(counter)
        }
        keys[advance.keyID] = key
        spent[pair] = advance.uniqueness.mark
        return .accepted
    }
}

@Suite("Embedded counters against a naive store")
struct EmbeddedModelTests {}

extension EmbeddedModelTests {
    @Test("the same verdicts through any mixture of requests", arguments: 0..<24)
    func interleavings(_ seed: UInt64) {
        var bench = EmbeddedBench(seed: seed)
        var model = NaiveStore(incarnation: bench.counters.incarnation)
        let keys = (0..<6).map { _ in bench.generator.keyID() }
        var sent: [CounterAdvance] = []
        var top: [KeyID: UInt32] = [:]
        for step in 0..<1500 {
            let advance = request(&bench, keys, sent, &top)
            let verdict = bench.counters.advance(advance, nowMilliseconds: bench.now)
            model.now = bench.counters.moment(nowMilliseconds: bench.now).milliseconds
            #expect(verdict == model.advance(advance), "seed \(seed), step \(step): \(advance)")
            sent.append(advance)
            bench.now += Int64.random(in: 0...5, using: &bench.generator)
        }
    }

    /// Fresh, replayed, late or mixed from what was sent before.
    private func request(
        _ bench: inout EmbeddedBench, _ keys: [KeyID], _ sent: [CounterAdvance],
        _ top: inout [KeyID: UInt32]
    ) -> CounterAdvance {
        let keyID = keys[Int.random(in: 0..<keys.count, using: &bench.generator)]
        let old = sent.randomElement(using: &bench.generator)
        let kind = Int.random(in: 0..<20, using: &bench.generator)
        if kind < 3, let old { return old }
        var counter = top[keyID] ?? 0
        switch kind {
        case 3..<12: counter += UInt32.random(in: 1...3, using: &bench.generator)
        case 12: counter += UInt32.random(in: 1...2000, using: &bench.generator)
        default: counter -= min(counter, UInt32.random(in: 0...1100, using: &bench.generator) / 8)
        }
        top[keyID] = max(top[keyID] ?? 0, counter)
        let isOldChallenge = Int.random(in: 0..<10, using: &bench.generator) == 0
        let isOldIncarnation = Int.random(in: 0..<30, using: &bench.generator) == 0
        let challenge = ChallengeUse(
            id: isOldChallenge
                ? old?.challenge.id ?? bench.generator.bytes16()
                : bench.generator.bytes16(),
            incarnation: isOldIncarnation ? Incarnation(1) : bench.counters.incarnation,
            expiresAt: bench.use(Bytes16(word0: 0, word1: 0)).expiresAt)
        let windows = [1, 1, 2, 64, 100, 1024]
        let counts = Int.random(in: 0..<5, using: &bench.generator) > 0
        return CounterAdvance(
            keyID: keyID, counts ? .counter(counter) : .challenge(mark: counter & 0xFF),
            windowSize: windows[Int.random(in: 0..<windows.count, using: &bench.generator)],
            challenge: challenge, floor: kind == 19 ? counter / 2 : 0)
    }

    /// Sends assertions again and again, within their challenge's life and across stops, clean
    /// and not; what a real gateway does with time: an expired challenge never reaches the store.
    @Test("no assertion and no challenge twice through stops and crashes", arguments: 100..<116)
    func restarts(_ seed: UInt64) {
        var bench = EmbeddedBench(seed: seed) { $0.graceMilliseconds = 0 }
        let keys = (0..<5).map { _ in bench.generator.keyID() }
        let floors = FloorTable()
        var sealed: [(advance: CounterAdvance, expiresAt: Int64)] = []
        var acceptedCounters: [KeyID: Set<UInt32>] = [:]
        var acceptedChallenges: [KeyID: Set<Bytes16>] = [:]
        var next: [KeyID: UInt32] = [:]
        for _ in 0..<2000 {
            let keyID = keys[Int.random(in: 0..<keys.count, using: &bench.generator)]
            let counter = (next[keyID] ?? 0) + 1
            next[keyID] = counter
            let use = bench.use(bench.generator.bytes16())
            sealed.append(
                (
                    CounterAdvance(
                        // The last key does not count.
                        keyID: keyID,
                        keyID == keys[4] ? .challenge(mark: counter) : .counter(counter),
                        windowSize: 64, challenge: use, floor: 0), bench.now + 120_000
                ))
            for _ in 0..<2 {
                let index = Int.random(
                    in: max(0, sealed.count - 60)..<sealed.count, using: &bench.generator)
                let (captured, expiresAt) = sealed[index]
                guard expiresAt > bench.now else { continue }
                let floor = floors.floor(
                    of: captured.keyID, known: captured.floor, asOf: 0, now: bench.now)
                let advance = CounterAdvance(
                    keyID: captured.keyID, captured.uniqueness, windowSize: 64,
                    challenge: captured.challenge, floor: floor?.settled ?? .max)
                let verdict = bench.counters.advance(advance, nowMilliseconds: bench.now)
                guard verdict == .accepted else { continue }
                let id = advance.challenge.id
                if let counter = captured.uniqueness.counter {
                    floors.note(advance.keyID, counter, now: bench.now)
                    #expect(
                        acceptedCounters[advance.keyID, default: []].insert(counter).inserted)
                }
                #expect(acceptedChallenges[advance.keyID, default: []].insert(id).inserted)
            }
            bench.now += Int64.random(in: 0...4000, using: &bench.generator)
            restart(&bench)
        }
        #expect(acceptedCounters.values.reduce(0) { $0 + $1.count } > 200)
    }

    private func restart(_ bench: inout EmbeddedBench) {
        let kind = Int.random(in: 0..<100, using: &bench.generator)
        guard kind < 3 else { return }
        let snapshot = kind < 2 ? bench.snapshot() : nil
        let before = bench.counters.incarnation
        var options = EmbeddedCounters.Options()
        options.graceMilliseconds = 0
        bench.counters = EmbeddedCounters(
            options: options, resuming: snapshot, clock: EmbeddedBench.clock(bench.now))
        #expect((bench.counters.incarnation == before) == (snapshot != nil))
        #expect(bench.counters.isResumed == (snapshot != nil))
    }
}
