import Attestation
import Bytes
import EventLoop
import KeyStore
import Testing

@Suite("Tokens of others, accepted once")
struct SpentTokenTests {
    private let first = Bytes16(word0: 1, word1: 2)
    private let second = Bytes16(word0: 1, word1: 3)
}

extension SpentTokenTests {
    private func counters(
        resuming snapshot: EmbeddedSnapshot? = nil, at now: Int64 = 0
    ) -> EmbeddedCounters {
        EmbeddedCounters(resuming: snapshot, clock: EmbeddedBench.clock(now))
    }

    private func spend(
        _ counters: EmbeddedCounters, _ id: Bytes16, life: Int = 1000, at now: Int64 = 0
    ) -> CounterVerdict {
        counters.spendToken(id, forMilliseconds: life, nowMilliseconds: now)
    }

    @Test("are remembered for their life at least, and not for ever")
    func life() {
        let counters = counters()
        #expect(spend(counters, first) == .accepted)
        #expect(spend(counters, first) == .replayed)
        #expect(spend(counters, second) == .accepted)
        for now in stride(from: Int64(0), to: 1000, by: 100) {
            #expect(spend(counters, first, at: now) == .replayed)
        }
        // Two generations: what was remembered is gone once both have turned.
        for now in stride(from: Int64(1000), through: 10_000, by: 500) {
            _ = spend(counters, Bytes16(word0: 9, word1: UInt64(now)), at: now)
        }
        #expect(spend(counters, first, at: 10_001) == .accepted)
    }

    @Test("are remembered beyond a stop in good order, and nothing is accepted after it")
    func snapshot() throws {
        let counters = counters()
        #expect(spend(counters, first) == .accepted)
        let snapshot = counters.snapshot(nowMilliseconds: 0)
        #expect(spend(counters, second) == .unavailable)
        let next = self.counters(resuming: snapshot, at: 500)
        #expect(next.isResumed && next.incarnation == snapshot.incarnation)
        #expect(spend(next, first, at: 500) == .replayed)
        #expect(spend(next, second, at: 500) == .accepted)
        let parts = try snapshot.parts
        let damaged = snapshot.with(parts.dropLast() + [[1, 2, 3]])
        #expect(!self.counters(resuming: damaged).isResumed)
        let older = snapshot.with(parts.dropLast())
        #expect(!self.counters(resuming: older).isResumed)
    }

    @Test("are forgotten after their life, however often the process is replaced")
    func restarts() throws {
        var counters = counters()
        #expect(spend(counters, first) == .accepted)
        for now in stride(from: Int64(400), through: 4800, by: 400) {
            let snapshot = counters.snapshot(nowMilliseconds: now)
            counters = self.counters(resuming: snapshot, at: now)
            #expect(counters.isResumed)
            if now < 1000 { #expect(spend(counters, first, at: now) == .replayed) }
            #expect(spend(counters, Bytes16(word0: 9, word1: UInt64(now)), at: now) == .accepted)
        }
        #expect(spend(counters, first, at: 4801) == .accepted)
        #expect(spend(counters, Bytes16(word0: 9, word1: 4800), at: 4801) == .replayed)
    }

    @Test("are accepted by one of many who try at once")
    func race() throws {
        let counters = counters()
        let accepted = Locked(0)
        let threads = try (0..<4).map { index in
            try Thread.spawn(name: "spender-\(index)") {
                for word in 0..<2000 {
                    let id = Bytes16(word0: 7, word1: UInt64(word))
                    let verdict = counters.spendToken(
                        id, forMilliseconds: 60_000, nowMilliseconds: 0)
                    if verdict == .accepted { accepted.withLock { $0 += 1 } }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(accepted.withLock { $0 } == 2000)
    }
}
