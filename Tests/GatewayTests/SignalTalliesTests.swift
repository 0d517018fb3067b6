import AppAttest
import Bytes
import EventLoop
import Judgement
import KeyStore
import Telemetry
import Testing

@testable import Gateway

@Suite("SignalTallies")
struct SignalTalliesTests {
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
        var theirs = [UInt8](repeating: 0, count: 256)
        for number in [2, 3, 4] as [UInt64] {
            let register = DistinctSketch.register(of: keyID(number).digest.word0)
            theirs[Int(register.index)] = register.rank
        }
        func merge(half: UInt64) -> (before: Int, after: Int) {
            tallies.merge(
                .registers(current: theirs, previous: []), of: .network(network(7)),
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
}
