import Bytes

/// The calendar period of a quota.
public struct QuotaPeriod: Hashable, Sendable {
    public enum Unit: String, Sendable, CaseIterable {
        case hour, day, week, month
    }

    public var unit: Unit
    /// How far the operator's clock is ahead of UTC, in minutes; negative in the west. An offset
    /// and not a named zone, so that all gateways agree whatever time zone data they have.
    public var offsetMinutes: Int

    public init(_ unit: Unit, offsetMinutes: Int = 0) {
        self.unit = unit
        self.offsetMinutes = offsetMinutes
    }

    /// The period around a time, both in milliseconds since 1970-01-01T00:00:00Z. A week begins on
    /// Monday (ISO 8601).
    public func range(around milliseconds: Int64) -> Range<Int64> {
        let offset = Int64(offsetMinutes) * 60
        // Clocks that stand outside of these years are wrong by so much that any period will do.
        let seconds = min(max(milliseconds / 1000, 0), Self.latestSecond)
        let local = CivilTime(secondsSince1970: seconds + offset)
        let day = midnight(local.year, local.month, local.day)
        let first: Int64
        let next: Int64
        switch unit {
        case .hour:
            first = day + Int64(local.hour) * 3600
            next = first + 3600
        case .day:
            first = day
            next = first + 86_400
        case .week:
            first = day - Int64((local.weekday + 6) % 7) * 86_400
            next = first + 7 * 86_400
        case .month:
            first = midnight(local.year, local.month, 1)
            next =
                local.month == 12
                ? midnight(local.year + 1, 1, 1) : midnight(local.year, local.month + 1, 1)
        }
        return (first - offset) * 1000..<(next - offset) * 1000
    }

    /// The last second of the year 9000.
    private static let latestSecond: Int64 = 221_876_927_999

    private func midnight(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
        CivilTime.secondsSince1970(
            year: year, month: month, day: day, hour: 0, minute: 0, second: 0) ?? 0
    }
}
