import AppAttest
import Bytes
import EventLoop
import KeyStore
import Telemetry
import Testing

@testable import Gateway

@Suite("SignalBook")
struct SignalBookTests {
    private static let window: UInt64 = 60 * 1_000_000_000

    private func at(_ seconds: Double) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: UInt64(seconds * 1_000_000_000) + Self.window * 1000)
    }

    private func network(_ number: UInt64) -> Bytes16 { Bytes16(word0: number, word1: 1) }

    private func keyID(_ number: UInt64) -> KeyID {
        KeyID(
            digest: Bytes32(
                word0: number &* 0x9E37_79B9_7F4A_7C15, word1: number, word2: 0, word3: 0))
    }

    @Test("what is older than the window does not count, what is younger than half of it does")
    func windows() {
        let book = SignalBook()
        for second in [0.0, 10, 20] {
            _ = book.addAttestation(from: network(1), window: Self.window, now: at(second))
        }
        #expect(book.attestationCount(from: network(1), now: at(20)) == 3)
        #expect(book.attestationCount(from: network(1), now: at(45)) == 3)
        #expect(book.attestationCount(from: network(1), now: at(80.5)) == 0)
        #expect(book.attestationCount(from: network(2), now: at(20)) == 0)
        let counts = book.addAttestation(from: network(1), window: Self.window, now: at(200))
        #expect(counts.before == 0 && counts.after == 1)
    }

    @Test("keys of an address are counted once each")
    func keys() {
        let book = SignalBook()
        var last = (before: 0, after: 0)
        for number in [1, 2, 1, 3, 2, 1] as [UInt64] {
            last = book.add(
                keyID(number), from: network(7), window: Self.window, now: at(1))
        }
        #expect(last.before == 3 && last.after == 3)
    }

    @Test("the tables do not grow, and a flood of addresses does not push out the busiest one")
    func bounded() {
        let table = SubjectTable<Bytes16, WindowTally<EventTally>>(subjectCountMax: 1024)
        let now = at(1).nanoseconds
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
        let book = SignalBook()
        let user = UserPseudonym(value: network(9))
        #expect(book.user(of: keyID(1), now: at(0)) == nil)
        let keys = UserKeys(user: user, firstSeen: 5, keyCount: 2, hasEarlierKey: true)
        book.remember(keys, of: keyID(1), now: at(0))
        #expect(book.user(of: keyID(1), now: at(59))?.isStale == false)
        #expect(book.user(of: keyID(1), now: at(61))?.isStale == true)
        #expect(book.user(of: keyID(1), now: at(61))?.isStale == false)
        #expect(book.user(of: keyID(1), now: at(61))?.keys == keys)
        book.forget(.keys([keyID(1)]))
        #expect(book.user(of: keyID(1), now: at(62)) == nil)
    }

    @Test("a use is written down once an hour, another user's at most once a second")
    func notes() {
        let book = SignalBook()
        let (first, second) = (
            UserPseudonym(value: network(1)), UserPseudonym(value: network(2))
        )
        #expect(book.shouldNote(first, of: keyID(1), now: at(0)))
        #expect(!book.shouldNote(first, of: keyID(1), now: at(3000)))
        #expect(book.shouldNote(first, of: keyID(1), now: at(3601)))
        #expect(!book.shouldNote(second, of: keyID(1), now: at(3601.5)))
        #expect(book.shouldNote(second, of: keyID(1), now: at(3603)))
        #expect(book.shouldNote(first, of: keyID(2), now: at(3603)))
    }
}
