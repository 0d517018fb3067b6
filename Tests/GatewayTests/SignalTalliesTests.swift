import Attestation
import Bytes
import EventLoop
import Judgement
import KeyStore
import Telemetry
import Testing

@testable import Gateway

@Suite("SignalTallies")
struct SignalTalliesTests {}

extension SignalTalliesTests {
    private static let window: UInt64 = 60 * 1_000_000_000

    private func at(_ seconds: Double) -> UInt64 {
        UInt64(seconds * 1_000_000_000) + Self.window * 1000
    }

    private func network(_ number: UInt64) -> Bytes16 { Bytes16(word0: number, word1: 1) }

    private func keyID(_ number: UInt64) -> KeyID {
        KeyID(
            digest: Bytes32(
                word0: number &* 0x9E37_79B9_7F4A_7C15, word1: number, word2: 0, word3: 0))
    }

    private func count(_ tallies: SignalTallies, _ number: UInt64, _ now: UInt64) -> Int {
        count(.look, tallies, number, now).after
    }

    /// Of enrolments.
    private func count(
        _ event: SignalEvent, _ tallies: SignalTallies, _ number: UInt64, _ now: UInt64
    ) -> TallyChange {
        tallies.count(
            event, of: .network(network(number)), for: .addressAttestations, window: Self.window,
            now: now)
    }

    private func add(_ key: UInt64, to tallies: SignalTallies, _ now: UInt64) -> TallyChange {
        tallies.count(
            .key(keyID(key)), of: .network(network(7)), for: .addressKeys, window: Self.window,
            now: now)
    }

    @Test("what is older than the window does not count, what is younger than half of it does")
    func windows() {
        let tallies = SignalTallies()
        for second in [0.0, 10, 20] {
            _ = count(.once, tallies, 1, at(second))
        }
        #expect(count(tallies, 1, at(20)) == 3)
        #expect(count(tallies, 1, at(45)) == 3)
        #expect(count(tallies, 1, at(80.5)) == 0)
        #expect(count(tallies, 2, at(20)) == 0)
        let counts = count(.once, tallies, 1, at(200))
        #expect(counts.before == 0 && counts.after == 1)
    }

    @Test("keys of an address are counted once each")
    func keys() {
        let tallies = SignalTallies()
        let changes = ([1, 2, 1, 3, 2, 1] as [UInt64]).map {
            add($0, to: tallies, at(1))
        }
        #expect(changes.map(\.after) == [1, 2, 2, 3, 3, 3])
        // Others hear of new ones alone.
        #expect(changes.map(\.isShared) == [true, true, false, true, false, false])
    }

    @Test("what other gateways have counted is added, of the same half of the window alone")
    func shared() {
        let tallies = SignalTallies()
        let mine = add(1, to: tallies, at(1))
        var theirs = DistinctSketch()
        for number in [2, 3, 4] as [UInt64] { _ = theirs.add(keyID(number).digest.word0) }
        func merge(half: UInt64) -> (before: Int, after: Int) {
            tallies.merge(
                .sketches(current: theirs.bytes, previous: []), of: .network(network(7)),
                for: .addressKeys, half: half, window: Self.window, now: at(2))
        }
        let old = merge(half: mine.half - 1)
        #expect(old.after == 1)
        let merged = merge(half: mine.half)
        #expect(merged.before == 1 && merged.after == 4)
        let again = merge(half: mine.half)
        #expect(again.before == 4 && again.after == 4)
        // A minute later others are asked again, though nothing is new.
        let later = add(1, to: tallies, at(12))
        #expect(later.isShared && later.after == 4)
        let event = count(.once, tallies, 7, at(12))
        let events = tallies.merge(
            .events(current: 3, previous: 2), of: .network(network(7)), for: .addressAttestations,
            half: event.half, window: Self.window, now: at(12))
        #expect(events.before == 1 && events.after == 5)
        // Counts of the same subject for another signal are apart.
        let conflicts = tallies.count(
            .look, of: .network(network(7)), for: .keyConflicts, window: Self.window, now: at(12))
        #expect(conflicts.after == 0)
    }

    @Test("the tables do not grow, and a flood of addresses does not push out the busiest one")
    func bounded() {
        let table = SubjectTable<Bytes16, WindowTally<EventTally>>(subjectCountMax: 1024)
        let now = at(1)
        func add(_ number: UInt64) {
            _ = table.update(
                network(number), now: now,
                fresh: WindowTally(windowNanoseconds: Self.window, now: now)
            ) { $0.add(now: now) }
        }
        for _ in 0..<50 { add(0) }
        for number in 1..<20_000 as Range<UInt64> { add(number) }
        var busiest = table.find(network(0))
        #expect(busiest?.count(now: now) == 50)
        let kept = (0..<20_000 as Range<UInt64>).count { table.find(network($0)) != nil }
        #expect(kept <= 1024 && kept > 512)
        table.forget(network(0))
        #expect(table.find(network(0)) == nil)
    }

    @Test("what a request would count is told without counting it")
    func expected() {
        let tallies = SignalTallies()
        let subject = SignalSubject.key(keyID(1))
        func expected(_ hash: UInt64?, _ second: Double) -> Int {
            tallies.expected(hash, of: subject, for: .keyAddresses, now: at(second))
        }
        func add(_ hash: UInt64, _ second: Double) -> TallyChange {
            tallies.count(
                .distinct(hash), of: subject, for: .keyAddresses, window: Self.window,
                now: at(second))
        }
        #expect(expected(nil, 1) == 0 && expected(7, 1) == 1)
        #expect(add(7, 1).after == 1)
        #expect(expected(7, 1) == 1 && expected(8, 1) == 2 && expected(9, 1) == 2)
        #expect(expected(nil, 1) == 1)
        #expect(expected(7, 200) == 1 && expected(nil, 200) == 0)
        // Other signals count apart, and others are asked once a minute.
        #expect(
            tallies.expected(7, of: subject, for: .keyNetworks, now: at(1)) == 1)
        #expect(!add(7, 20).isShared && add(8, 20).isShared && add(8, 81).isShared)
    }

    @Test("counters that did not come are those between the first and the highest, in a window")
    func counterGaps() {
        let tallies = SignalTallies()
        let subject = SignalSubject.key(keyID(1))
        func accept(_ counter: UInt32, _ second: Double) -> TallyChange {
            tallies.count(
                .counter(counter), of: subject, for: .counterGaps, window: Self.window,
                now: at(second))
        }
        func gaps(_ second: Double) -> Int { tallies.gapCount(of: subject, now: at(second)) }
        #expect(gaps(0) == 0)
        #expect(accept(100, 0).after == 0)
        #expect(accept(101, 1).after == 0)
        #expect(accept(105, 2).after == 3)
        #expect(accept(103, 3).after == 2)
        // The next half goes on where this one ended.
        #expect(accept(107, 31).after == 3)
        #expect(accept(104, 32).after == 2)
        #expect(gaps(59) == 2)
        // Of the first half nothing counts any more; a late one is no credit for long.
        #expect(gaps(61) == 0 && accept(110, 61).after == 2)
        // After half a window without any it begins anew: what was refused meanwhile is no gap.
        #expect(gaps(125) == 0 && accept(5000, 125).after == 0)
        #expect(accept(.max, 126).after == Int(UInt32.max) - 5001)
    }

    @Test("what all gateways have seen of a counter takes the place of what one has")
    func sharedGaps() throws {
        let tallies = SignalTallies()
        let subject = SignalSubject.key(keyID(1))
        let half = WindowTally<CounterTally>.half(at: at(0), windowNanoseconds: Self.window)
        func merge(
            _ base: UInt32, _ highest: UInt32, _ seen: UInt32, later: UInt64 = 0,
            at second: Double = 1
        ) -> Int {
            tallies.merge(
                .counters(
                    current: CounterSpan(base: base, highest: highest, seenCount: seen),
                    previous: CounterSpan(base: 0, highest: base, seenCount: 3)),
                of: subject, for: .counterGaps, half: half + later, window: Self.window,
                now: at(second)
            ).after
        }
        #expect(merge(5, 20, 4) == 13)
        #expect(merge(5, 21, 6) == 12)
        // An answer that was overtaken.
        #expect(merge(5, 20, 4) == 12)
        #expect(tallies.gapCount(of: subject, now: at(2)) == 12)
        // Nothing else moves the window of a key that only others tell of.
        #expect(merge(20, 30, 2, later: 1, at: 31) == 18)
        #expect(merge(30, 31, 1, later: 3, at: 91) == 27)
        #expect(CounterSpan(base: 2, highest: 1, seenCount: 1) == nil)
        #expect(CounterSpan(base: 0, highest: 0, seenCount: 1) == nil)
        #expect(CounterSpan(base: 0, highest: 1, seenCount: 0) == nil)
    }

    @Test("a subject takes no more memory than the reference of settings says")
    func byteCounts() {
        #expect(SubjectTable<SignalSubject, WindowTally<DistinctSketch>>.placeByteCount <= 600)
        #expect(SubjectTable<SignalSubject, WindowTally<EventTally>>.placeByteCount <= 100)
        #expect(SubjectTable<SignalSubject, WindowTally<CounterTally>>.placeByteCount <= 100)
    }

    @Test("keys that come once push out neither a key with much, nor what is known of its counter")
    func flood() {
        let tallies = SignalTallies(subjectCountMax: 1024)
        func see(_ key: UInt64, _ hash: UInt64, _ counter: UInt32) {
            let subject = SignalSubject.key(keyID(key))
            _ = tallies.count(
                .distinct(hash), of: subject, for: .keyUsers, window: Self.window, now: at(1))
            _ = tallies.count(
                .counter(counter), of: subject, for: .counterGaps, window: Self.window, now: at(1))
        }
        for number in 1...5 as ClosedRange<UInt64> {
            see(0, keyID(number).digest.word0, UInt32(number * 10))
        }
        for key in 1..<20_000 as Range<UInt64> { see(key, 1, 1) }
        let subject = SignalSubject.key(keyID(0))
        #expect(tallies.expected(nil, of: subject, for: .keyUsers, now: at(2)) == 5)
        #expect(tallies.gapCount(of: subject, now: at(2)) == 36)
    }

    @Test("a provider's network is a /16 of IPv4 or a /32 of IPv6, never both")
    func providerNetworks() throws {
        func network(_ text: String) throws -> Bytes16 {
            let address = try #require(SocketAddress.numeric(host: text, port: 1)?.ipv6Form)
            return address.providerNetwork
        }
        #expect(try network("192.0.2.1") == network("192.0.77.9"))
        #expect(try network("192.0.2.1") != network("192.1.2.1"))
        #expect(try network("2001:db8:1::1") == network("2001:db8:ffff:2::9"))
        #expect(try network("2001:db8::1") != network("2001:db9::1"))
        #expect(try network("::1") != network("0.0.0.0"))
    }

    @Test("the registry is asked once a minute for a user, by one caller")
    func users() {
        let tallies = SignalTallies()
        let user = UserPseudonym(value: network(9))
        #expect(tallies.user(of: keyID(1), now: at(0)) == nil)
        let keys = UserKeys(user: user, firstSeen: 5, keyCount: 2, hasEarlierKey: true)
        tallies.remember(keys, of: keyID(1), now: at(0))
        #expect(tallies.user(of: keyID(1), now: at(59))?.isStale == false)
        #expect(tallies.user(of: keyID(1), now: at(61))?.isStale == true)
        #expect(tallies.user(of: keyID(1), now: at(61))?.isStale == false)
        #expect(tallies.user(of: keyID(1), now: at(61))?.keys == keys)
        tallies.forget(.keys([keyID(1)]))
        #expect(tallies.user(of: keyID(1), now: at(62)) == nil)
    }

    @Test("a use is written down once an hour, another user's at most once a second")
    func notes() {
        let tallies = SignalTallies()
        let (first, second) = (
            UserPseudonym(value: network(1)), UserPseudonym(value: network(2))
        )
        #expect(tallies.shouldNote(first, of: keyID(1), now: at(0)))
        #expect(!tallies.shouldNote(first, of: keyID(1), now: at(3000)))
        #expect(tallies.shouldNote(first, of: keyID(1), now: at(3601)))
        #expect(!tallies.shouldNote(second, of: keyID(1), now: at(3601.5)))
        #expect(tallies.shouldNote(second, of: keyID(1), now: at(3603)))
        #expect(tallies.shouldNote(first, of: keyID(2), now: at(3603)))
    }

    @Test("counts that a damaged store tells end nothing")
    func damaged() {
        var events = EventTally(number: .max)
        _ = events.add(1)
        #expect(events.count(with: EventTally(number: .max)) > 1 << 32)
        #expect(EventTally(number: .min).number == 0)
        var counters = CounterTally(
            CounterSpan(base: .max, highest: 0, seenCount: .max))
        _ = counters.add(7)
        #expect(counters.count(with: counters) == 0)
    }
}
