import Bytes
import Policy
import Testing

@Suite("The periods of quotas")
struct QuotaPeriodTests {}

extension QuotaPeriodTests {
    private typealias Day = (year: Int, month: Int, day: Int)

    /// Milliseconds since 1970 of a time in UTC.
    private func time(
        _ year: Int, _ month: Int, _ day: Int, _ hour: Int = 0, _ minute: Int = 0,
        _ second: Int = 0, milliseconds: Int64 = 0
    ) throws -> Int64 {
        let seconds = try #require(
            CivilTime.secondsSince1970(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second))
        return seconds * 1000 + milliseconds
    }

    @Test("an hour begins with its first millisecond and ends before the next")
    func hours() throws {
        let hour = try time(2026, 11, 28, 21)..<time(2026, 11, 28, 22)
        let period = QuotaPeriod(.hour)
        #expect(period.range(around: hour.lowerBound) == hour)
        #expect(period.range(around: hour.upperBound - 1) == hour)
        #expect(period.range(around: hour.upperBound).lowerBound == hour.upperBound)
        #expect(period.range(around: hour.lowerBound - 1).upperBound == hour.lowerBound)
    }

    @Test("a day is the operator's, also where clocks are off by half an hour")
    func offsets() throws {
        let moment = try time(2026, 11, 28, 20, 15)
        #expect(
            try QuotaPeriod(.day).range(around: moment)
                == time(2026, 11, 28)..<time(2026, 11, 29))
        // In India it is 01:45 on the 29th.
        #expect(
            try QuotaPeriod(.day, offsetMinutes: 330).range(around: moment)
                == time(2026, 11, 28, 18, 30)..<time(2026, 11, 29, 18, 30))
        // In Newfoundland it is 16:45 on the 28th.
        #expect(
            try QuotaPeriod(.day, offsetMinutes: -210).range(around: moment)
                == time(2026, 11, 28, 3, 30)..<time(2026, 11, 29, 3, 30))
        #expect(
            try QuotaPeriod(.hour, offsetMinutes: 330).range(around: moment)
                == time(2026, 11, 28, 19, 30)..<time(2026, 11, 28, 20, 30))
        // The offset may lead into another month, and another year.
        #expect(
            try QuotaPeriod(.month, offsetMinutes: 60).range(
                around: time(2026, 12, 31, 23, 30))
                == time(2026, 12, 31, 23)..<time(2027, 1, 31, 23))
    }

    @Test(
        "a week begins on Monday",
        arguments: [(2026, 11, 23), (2026, 11, 25), (2026, 11, 29)])
    func weeks(_ year: Int, _ month: Int, _ day: Int) throws {
        let week = try time(2026, 11, 23)..<time(2026, 11, 30)
        #expect(
            try QuotaPeriod(.week).range(
                around: time(year, month, day, 23, 59, 59, milliseconds: 999)) == week)
    }

    @Test("a week may lie in two years")
    func weekOfTwoYears() throws {
        let week = try time(2026, 12, 28)..<time(2027, 1, 4)
        #expect(try QuotaPeriod(.week).range(around: time(2026, 12, 31)) == week)
        #expect(try QuotaPeriod(.week).range(around: time(2027, 1, 3)) == week)
        #expect(
            try QuotaPeriod(.week).range(around: time(1970, 1, 1)).upperBound == time(1970, 1, 5))
    }

    @Test(
        "a month has its days, in leap years too",
        arguments: [
            (2026, 1, 31), (2026, 2, 28), (2028, 2, 29), (2000, 2, 29), (2100, 2, 28),
            (2026, 4, 30), (2026, 12, 31),
        ])
    func months(_ year: Int, _ month: Int, _ lastDay: Int) throws {
        let next: Day = month == 12 ? (year + 1, 1, 1) : (year, month + 1, 1)
        let range = try time(year, month, 1)..<time(next.year, next.month, next.day)
        #expect(range.upperBound - range.lowerBound == Int64(lastDay) * 86_400_000)
        let period = QuotaPeriod(.month)
        #expect(period.range(around: range.lowerBound) == range)
        #expect(period.range(around: range.upperBound - 1) == range)
        #expect(period.range(around: range.upperBound).lowerBound == range.upperBound)
    }

    @Test("periods of any time follow each other without gaps", arguments: 0..<8)
    func noGaps(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let unit = try #require(QuotaPeriod.Unit.allCases.randomElement(using: &generator))
            let offset = Int.random(in: -14 * 60...14 * 60, using: &generator)
            let period = QuotaPeriod(unit, offsetMinutes: offset)
            // From 1971 to 2200.
            let moment = Int64.random(in: 31_536_000_000...7_258_118_400_000, using: &generator)
            let range = period.range(around: moment)
            #expect(range.contains(moment), "seed \(seed): \(period) around \(moment)")
            for end in [range.lowerBound - 1, range.upperBound] {
                let beside = period.range(around: end)
                #expect(
                    beside.upperBound == range.lowerBound || beside.lowerBound == range.upperBound,
                    "seed \(seed): \(period) around \(end)")
            }
        }
    }

    @Test("clocks that are far off have a period, too")
    func absurdTimes() {
        for unit in QuotaPeriod.Unit.allCases {
            for moment in [Int64.min, -1, 0, .max] {
                let range = QuotaPeriod(unit).range(around: moment)
                #expect(!range.isEmpty && range.upperBound - range.lowerBound <= 31 * 86_400_000)
            }
        }
    }
}

/// SplitMix64.
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
