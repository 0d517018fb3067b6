import EventLoop
import KeyStore
import Testing

/// Holders of one lease on clocks that a test moves; the store's clock is one more.
private struct LeaseTable {
    var entry: SharedEntry?
    var storeNow: Int64 = 1_790_000_000_000
    var now = MonotonicInstant(nanoseconds: 1_000_000_000)

    mutating func pass(_ duration: Duration) {
        now = now + duration
        storeNow += Int64(duration / .milliseconds(1))
    }

    mutating func write(_ write: SharedWrite) -> SharedOutcome {
        let written = write.entry(over: entry, at: storeNow)
        if let written { entry = written }
        return SharedOutcome(
            isWritten: written != nil, reading: SharedReading(entry: entry, now: storeNow))
    }

    /// The holder asks, and is answered at once.
    mutating func turn(_ lease: inout SharedLease) {
        guard let write = lease.write(at: now) else { return }
        lease.answered(.success(self.write(write)), at: now)
    }
}

@Suite("A lease among gateways")
struct SharedLeaseTests {
    private var table = LeaseTable()
    private var first = SharedLease(name: "work", holder: [1], lifetime: .seconds(30))
    private var second = SharedLease(name: "work", holder: [2], lifetime: .seconds(30))
}

extension SharedLeaseTests {
    @Test("one holds it, for as long as it renews it, and the next in a later term")
    mutating func handover() throws {
        table.turn(&first)
        #expect(first.term(at: table.now) == 1)
        for _ in 0..<100 {
            table.pass(.seconds(2))
            table.turn(&first)
            table.turn(&second)
            #expect(first.term(at: table.now) == 1)
            #expect(second.term(at: table.now) == nil)
        }
        // The first dies; nobody holds it until the store says so.
        var gapCount = 0
        while second.term(at: table.now) == nil {
            table.pass(.seconds(1))
            table.turn(&second)
            gapCount += 1
            try #require(gapCount < 60)
        }
        #expect(first.term(at: table.now) == nil)
        #expect(second.term(at: table.now) == 2)
        // It comes back, and waits.
        table.turn(&first)
        #expect(first.term(at: table.now) == nil)
    }

    @Test("the holder lets go before the store would give it to another")
    mutating func letsGoFirst() {
        table.turn(&first)
        var isHeld = true
        for _ in 0..<31 {
            table.pass(.seconds(1))
            isHeld = first.term(at: table.now) != nil
            table.turn(&second)
            #expect(!(isHeld && second.term(at: table.now) != nil))
        }
        #expect(!isHeld)
        #expect(second.term(at: table.now) == 2)
    }

    @Test("a released lease is free at once")
    mutating func release() throws {
        let early = first.release(at: table.now)
        #expect(early == nil)
        table.turn(&first)
        let released = first.release(at: table.now)
        _ = table.write(try #require(released))
        #expect(first.term(at: table.now) == nil)
        table.turn(&second)
        #expect(second.term(at: table.now) == 2)
    }

    @Test("the answer to a release is not a lease")
    mutating func releaseAnswered() throws {
        table.turn(&first)
        let released = first.release(at: table.now)
        let outcome = table.write(try #require(released))
        first.answered(.success(outcome), at: table.now)
        #expect(first.term(at: table.now) == nil)
        let again = first.release(at: table.now)
        #expect(again == nil)
        // Nobody else took it, so it goes on in its term.
        table.pass(.seconds(10))
        table.turn(&first)
        #expect(first.term(at: table.now) == 1)
    }

    @Test("a lease that was taken while the store's clock was years ahead is taken from the dead")
    mutating func clockAhead() {
        let years = Duration.seconds(5 * 365 * 86_400)
        table.storeNow += Int64(years / .milliseconds(1))
        table.turn(&first)
        table.storeNow -= Int64(years / .milliseconds(1))
        // The first is dead. No lease is that long.
        table.turn(&second)
        #expect(second.term(at: table.now) == 2)
        // One that is only longer than ours is left alone.
        var long = SharedLease(name: "work", holder: [3], lifetime: .seconds(600))
        table.pass(.seconds(60))
        table.turn(&long)
        #expect(long.term(at: table.now) == 3)
        table.pass(.seconds(10))
        table.turn(&first)
        #expect(first.term(at: table.now) == nil)
    }

    @Test("another life counts from the next write on")
    mutating func anotherLife() {
        table.turn(&first)
        first.lifetime = .seconds(300)
        table.pass(.seconds(10))
        table.turn(&first)
        table.pass(.seconds(200))
        #expect(first.term(at: table.now) == 1)
    }

    @Test("a write whose answer is lost is found again as its own")
    mutating func lostAnswer() throws {
        let sent = table.now
        let lost = first.write(at: sent)
        let second = first.write(at: sent)
        #expect(second == nil)
        _ = table.write(try #require(lost))
        first.answered(.failure(StoreError("gone")), at: table.now)
        #expect(first.term(at: table.now) == nil)
        table.pass(.seconds(4))
        table.turn(&first)
        #expect(first.term(at: table.now) == 1)
        // And so is one on the way to renew it, which nobody else can take meanwhile.
        table.pass(.seconds(12))
        let renewal = first.write(at: table.now)
        _ = table.write(try #require(renewal))
        first.answered(.failure(StoreError("gone")), at: table.now)
        table.pass(.seconds(4))
        table.turn(&first)
        table.turn(&self.second)
        #expect(first.term(at: table.now) == 1)
        #expect(self.second.term(at: table.now) == nil)
    }

    @Test("a store that is away ends the lease with its life")
    mutating func storeAway() throws {
        table.turn(&first)
        for _ in 0..<14 {
            table.pass(.seconds(2))
            if first.write(at: table.now) != nil {
                first.answered(.failure(StoreError("away")), at: table.now)
            }
            #expect(first.term(at: table.now) == 1)
        }
        table.pass(.seconds(1))
        #expect(first.term(at: table.now) == nil)
        // Nobody took it: it goes on in its term.
        table.pass(.seconds(60))
        table.turn(&first)
        #expect(first.term(at: table.now) == 1)
    }
}
