import Bytes
import GatewayTesting
import KeyStore
import Testing

@Suite("Embedded counts of quotas")
struct EmbeddedQuotaTests {
    private static let hour: Int64 = 3_600_000
    /// 2026-11-28, 21:00.
    private static let start: Int64 = 1_795_899_600_000
    private static let period = start..<start + hour

    private let quotas = EmbeddedQuotas()
}

extension EmbeddedQuotaTests {
    private func count(_ name: UInt64, _ period: Range<Int64> = period) -> QuotaCount {
        QuotaCount(name: Bytes16(word0: name, word1: ~name), period: period)
    }

    private func make(
        _ change: QuotaCharge.Change, _ name: UInt64 = 1, limit: Int = 10,
        period: Range<Int64> = period, now: Int64 = 0, wall: Int64 = start
    ) -> QuotaVerdict {
        quotas.charge(
            QuotaCharge(change, of: count(name, period), limit: limit), nowMilliseconds: now,
            wallMilliseconds: wall)
    }

    @Test("take no more than the limit, and give back what was not used")
    func changes() {
        #expect(make(.look) == .granted(used: 0))
        #expect(make(.take(11)) == .exhausted(used: 0))
        #expect(quotas.countCount == 0)
        #expect(make(.take(9)) == .granted(used: 9))
        #expect(make(.take(2)) == .exhausted(used: 9))
        #expect(make(.look) == .granted(used: 9))
        #expect(make(.take(1)) == .granted(used: 10))
        #expect(make(.look) == .exhausted(used: 10))
        #expect(make(.giveBack(1)) == .granted(used: 9))
        #expect(make(.add(5)) == .granted(used: 14))
        #expect(make(.take(0)) == .exhausted(used: 14))
        #expect(quotas.sums(of: count(1)) == QuotaSums(taken: 15, returned: 1))
        #expect(make(.look, 2) == .granted(used: 0))
        #expect(make(.giveBack(3), 2) == .granted(used: -3))
        #expect(make(.take(13), 2) == .granted(used: 10))
        #expect(quotas.countCount == 2)
    }

    @Test("a reset leaves nothing used, and of two at once the second changes nothing")
    func resets() {
        #expect(make(.reset) == .granted(used: 0))
        #expect(quotas.countCount == 0)
        #expect(make(.take(9)) == .granted(used: 9))
        for _ in 0..<2 { #expect(make(.reset) == .granted(used: 0)) }
        #expect(quotas.sums(of: count(1)) == QuotaSums(taken: 9, returned: 9))
        // What was granted by mistake is taken away.
        #expect(make(.giveBack(1000)) == .granted(used: -1000))
        for _ in 0..<2 { #expect(make(.reset) == .granted(used: 0)) }
        #expect(make(.take(11)) == .exhausted(used: 0))
    }

    @Test("a count has its period alone")
    func periods() {
        let next = Self.period.upperBound..<Self.period.upperBound + Self.hour
        let day = Self.start..<Self.start + 24 * Self.hour
        #expect(make(.take(10)) == .granted(used: 10))
        #expect(make(.take(10), period: next) == .granted(used: 10))
        #expect(make(.take(10), period: day) == .granted(used: 10))
        #expect(make(.take(1)) == .exhausted(used: 10))
    }

    @Test("full sums grant nothing, and nothing overflows")
    func saturation() {
        #expect(make(.add(.max), limit: .max) == .granted(used: QuotaSums.sumMax))
        #expect(make(.add(.max), limit: .max) == .granted(used: QuotaSums.sumMax))
        #expect(make(.take(1), limit: .max) == .exhausted(used: QuotaSums.sumMax))
        #expect(make(.giveBack(.max)) == .granted(used: 0))
        #expect(make(.giveBack(.max)) == .granted(used: 0))
        // What is left cannot be counted any more.
        #expect(make(.look, limit: 10) == .exhausted(used: 0))
        #expect(make(.add(-1)) == .granted(used: 0))
        #expect(make(.take(.min), 2) == .granted(used: 0))
    }

    @Test("new counts beyond the bound are refused, and those that are there go on")
    func full() {
        var options = EmbeddedQuotas.Options()
        options.countMax = 32 * 4
        let quotas = EmbeddedQuotas(options: options)
        var granted: [UInt64] = []
        for name in 0..<1000 {
            let verdict = quotas.charge(
                QuotaCharge(.take(1), of: count(UInt64(name)), limit: 9), nowMilliseconds: 0,
                wallMilliseconds: Self.start)
            if verdict == .granted(used: 1) { granted.append(UInt64(name)) }
            #expect(verdict == .granted(used: 1) || verdict == .full)
        }
        #expect(granted.count == 128 && quotas.countCount == 128)
        for name in granted {
            let again = QuotaCharge(.take(1), of: count(name), limit: 9)
            #expect(
                quotas.charge(again, nowMilliseconds: 0, wallMilliseconds: Self.start)
                    == .granted(used: 2))
        }
        // The next period finds room, once the grace is over.
        let next = Self.period.upperBound..<Self.period.upperBound + Self.hour
        let later = Self.hour + Int64(options.graceMilliseconds)
        for name in 0..<64 {
            let charge = QuotaCharge(.take(1), of: count(UInt64(name), next), limit: 9)
            #expect(
                quotas.charge(
                    charge, nowMilliseconds: later, wallMilliseconds: Self.start + later)
                    == .granted(used: 1))
        }
    }

    @Test("a sender whose answers could not be counted is refused")
    func fullForAnswers() {
        var options = EmbeddedQuotas.Options()
        options.countMax = 32
        let quotas = EmbeddedQuotas(options: options)
        func charge(
            _ change: QuotaCharge.Change, _ name: UInt64, _ period: Range<Int64> = Self.period,
            now: Int64 = 0
        ) -> QuotaVerdict {
            quotas.charge(
                QuotaCharge(change, of: count(name, period), limit: 9), nowMilliseconds: now,
                wallMilliseconds: Self.start + now)
        }
        #expect(charge(.look, 1000) == .granted(used: 0))
        for name in UInt64(0)..<1000 { _ = charge(.take(1), name) }
        #expect(quotas.countCount == 32)
        #expect(charge(.look, 1000) == .full)
        #expect(charge(.add(9), 1000) == .full)
        let known = (UInt64(0)..<1000).first { quotas.sums(of: count($0)) != nil }
        #expect(known.map { charge(.look, $0) } == .granted(used: 1))
        // The next period finds room, once the grace is over.
        let next = Self.period.upperBound..<Self.period.upperBound + Self.hour
        let later = Self.hour + Int64(options.graceMilliseconds)
        #expect(charge(.look, 1000, next, now: later) == .granted(used: 0))
    }

    @Test("ended periods are forgotten after the grace, by the monotonic clock")
    func sweeps() {
        #expect(make(.take(10)) == .granted(used: 10))
        let grace = Int64(EmbeddedQuotas.Options().graceMilliseconds)
        // The wall clock leaps ahead by a year and comes back.
        quotas.sweep(nowMilliseconds: 1000, wallMilliseconds: Self.start + 8760 * Self.hour)
        #expect(make(.take(1), now: 2000, wall: Self.start + 2000) == .exhausted(used: 10))
        let end = Self.hour + grace
        quotas.sweep(nowMilliseconds: end - 1, wallMilliseconds: Self.start + end - 1)
        #expect(quotas.countCount == 1)
        quotas.sweep(nowMilliseconds: end, wallMilliseconds: Self.start + end)
        #expect(quotas.countCount == 0)
        #expect(quotas.sums(of: count(1)) == nil)
    }

    @Test("a clock that was ahead at the first use, and is set right, loses no count")
    func aheadAtFirst() {
        // It says that the period ends in a second.
        #expect(make(.take(10), wall: Self.period.upperBound - 1000) == .granted(used: 10))
        let grace = Int64(EmbeddedQuotas.Options().graceMilliseconds)
        for minute in Int64(1)...70 {
            let wall = min(Self.start + minute * 60_000, Self.period.upperBound - 1)
            quotas.sweep(nowMilliseconds: minute * 60_000, wallMilliseconds: wall)
        }
        #expect(70 * 60_000 > grace)
        #expect(
            make(.take(1), now: 70 * 60_000, wall: Self.period.upperBound - 1)
                == .exhausted(used: 10))
    }

    @Test("closed counts change no more")
    func closed() {
        #expect(make(.take(1)) == .granted(used: 1))
        quotas.close()
        #expect(make(.take(1)) == .unavailable)
        #expect(quotas.sums(of: count(1)) == QuotaSums(taken: 1))
    }

    @Test("a count takes some fifty bytes")
    func memory() throws {
        try OwnProcess.run(Self.self) {
            let before = try OwnProcess.residentByteCount()
            let total = 300_000
            for name in UInt64(0)..<UInt64(total) {
                // As evenly spread as pseudonyms.
                let mixed = (name &+ 1) &* 0x9E37_79B9_7F4A_7C15
                _ = quotas.charge(
                    QuotaCharge(.take(1), of: count(mixed), limit: 9), nowMilliseconds: 0,
                    wallMilliseconds: Self.start)
            }
            let byteCount = try OwnProcess.residentByteCount() - before
            #expect(quotas.countCount == total)
            #expect(byteCount / total < 64)
        }
    }
}
