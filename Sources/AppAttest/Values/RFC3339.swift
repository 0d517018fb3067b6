/// A moment as Apple's receipts write it, to the millisecond.
public struct Timestamp: Hashable, Sendable, Comparable {
    /// Seconds since 1970-01-01T00:00:00Z.
    public let seconds: Int64
    public let milliseconds: Int

    public init(seconds: Int64, milliseconds: Int = 0) {
        self.seconds = seconds
        self.milliseconds = milliseconds
    }

    /// RFC 3339 text in UTC, with milliseconds where there are any.
    public var text: String {
        let whole = RFC3339.text(seconds)
        guard milliseconds > 0, whole.hasSuffix("Z") else { return whole }
        let digits = String(1000 + milliseconds).dropFirst()
        return "\(whole.dropLast()).\(digits)Z"
    }

    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.milliseconds) < (right.seconds, right.milliseconds)
    }
}

/// Date and time text (RFC 3339 section 5.6), such as `2026-04-21T18:13:12.153Z`.
public enum RFC3339 {
    /// Nil for anything else. Fractions may have 1 to 9 digits, cut to milliseconds; leap seconds
    /// are refused.
    public static func parse(_ text: Span<UInt8>) -> Timestamp? {
        guard text.count >= 20, text.count <= 35,
            let year = digits(text, 0..<4), text[4] == 0x2D,
            let month = digits(text, 5..<7), text[7] == 0x2D,
            let day = digits(text, 8..<10), text[10] | 0x20 == 0x74,
            let hour = digits(text, 11..<13), text[13] == 0x3A,
            let minute = digits(text, 14..<16), text[16] == 0x3A,
            let second = digits(text, 17..<19),
            (1...12).contains(month), day >= 1, day <= dayCount(year: year, month: month),
            hour < 24, minute < 60, second < 60
        else { return nil }
        var index = 19
        var milliseconds = 0
        if text[index] == 0x2E {
            index += 1
            var digitCount = 0
            while index < text.count, let digit = digits(text, index..<index + 1) {
                if digitCount < 3 { milliseconds = milliseconds * 10 + digit }
                digitCount += 1
                index += 1
            }
            guard digitCount >= 1, digitCount <= 9 else { return nil }
            for _ in min(digitCount, 3)..<3 { milliseconds *= 10 }
        }
        guard let offset = offset(text, from: index) else { return nil }
        let days = daysSinceEpoch(year: year, month: month, day: day)
        let seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset
        return Timestamp(seconds: Int64(seconds), milliseconds: milliseconds)
    }

    public static func parse(_ text: String) -> Timestamp? { parse(Array(text.utf8).span) }

    /// `seconds` since 1970 in UTC, for years 0 to 9999; others as the bare number.
    public static func text(_ seconds: Int64) -> String {
        guard seconds >= -62_167_219_200, seconds < 253_402_300_800 else { return "\(seconds)" }
        let days = Int((seconds - (seconds % 86400 + 86400) % 86400) / 86400)
        let time = Int((seconds % 86400 + 86400) % 86400)
        let (year, month, day) = date(daysSinceEpoch: days)
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T"
            + "\(padded(time / 3600, 2)):\(padded(time / 60 % 60, 2)):\(padded(time % 60, 2))Z"
    }

    /// Seconds east of UTC; nil unless the offset ends the text.
    private static func offset(_ text: Span<UInt8>, from index: Int) -> Int? {
        guard index < text.count else { return nil }
        if text[index] | 0x20 == 0x7A { return index + 1 == text.count ? 0 : nil }
        guard text[index] == 0x2B || text[index] == 0x2D, text.count == index + 6,
            let hours = digits(text, index + 1..<index + 3), text[index + 3] == 0x3A,
            let minutes = digits(text, index + 4..<index + 6), hours < 24, minutes < 60
        else { return nil }
        let seconds = hours * 3600 + minutes * 60
        return text[index] == 0x2B ? seconds : -seconds
    }

    private static func digits(_ text: Span<UInt8>, _ range: Range<Int>) -> Int? {
        guard range.upperBound <= text.count else { return nil }
        var value = 0
        for index in range {
            guard text[index] >= 0x30, text[index] <= 0x39 else { return nil }
            value = value * 10 + Int(text[index] - 0x30)
        }
        return value
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

    /// Days of the proleptic Gregorian calendar, in eras of 400 years that begin in March.
    private static func daysSinceEpoch(year: Int, month: Int, day: Int) -> Int {
        let shiftedYear = month <= 2 ? year + 399 : year + 400
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return (era - 1) * 146_097 + dayOfEra - 719_468
    }

    private static func date(daysSinceEpoch days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468 + 146_097
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + (era - 1) * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private static func padded(_ number: Int, _ digitCount: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
    }
}
