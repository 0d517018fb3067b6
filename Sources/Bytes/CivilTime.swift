/// A UTC date and time: proleptic Gregorian calendar, no leap seconds.
package struct CivilTime: Hashable, Sendable {
    package let year: Int
    /// The month, 1 to 12.
    package let month: Int
    /// The day of the month, 1 to 31.
    package let day: Int
    package let hour: Int
    package let minute: Int
    package let second: Int
    /// The day of the week; 0 is Sunday.
    package let weekday: Int

    private static let daysInEra = 146_097
    /// The days from 1 March of year 0 to 1 January 1970.
    private static let epochOffset = 719_468

    package init(secondsSince1970 seconds: Int64) {
        var days = Int(seconds) / 86_400
        var rest = Int(seconds) % 86_400
        if rest < 0 {
            rest += 86_400
            days -= 1
        }
        hour = rest / 3600
        minute = rest / 60 % 60
        second = rest % 60
        // 1 January 1970 was a Thursday.
        weekday = ((days + 4) % 7 + 7) % 7
        // Years start in March, so that the leap day is the last of its year.
        let shifted = days + Self.epochOffset
        let era = (shifted >= 0 ? shifted : shifted - (Self.daysInEra - 1)) / Self.daysInEra
        let dayOfEra = shifted - era * Self.daysInEra
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Seconds since 1970 of a date and time in UTC, or nil if they do not exist. Second 60 counts
    /// as the first of the next minute.
    package static func secondsSince1970(
        year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int
    ) -> Int64? {
        guard (0...9999).contains(year), (1...12).contains(month), day >= 1,
            day <= dayCount(year: year, month: month), (0...23).contains(hour),
            (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * daysInEra + dayOfEra - epochOffset
        return Int64(days * 86_400 + hour * 3600 + minute * 60 + second)
    }

    private static func dayCount(year: Int, month: Int) -> Int {
        switch month {
        case 2:
            year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
                ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
