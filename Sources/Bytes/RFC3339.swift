/// A moment as Apple's receipts write it, to the millisecond.
public struct Timestamp: Hashable, Sendable, Comparable {
    /// Seconds since 1970-01-01T00:00:00Z.
    public let seconds: Int64
    public let milliseconds: Int

    public init(seconds: Int64, milliseconds: Int = 0) {
        self.seconds = seconds
        self.milliseconds = milliseconds
    }

    /// RFC 3339 text in UTC, with milliseconds if there are any.
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
    /// Parses an RFC 3339 time, or returns nil for anything else. Fractions have 1 to 9 digits and
    /// are cut to milliseconds; leap seconds are refused.
    public static func parse(_ text: Span<UInt8>) -> Timestamp? {
        guard text.count >= 20, text.count <= 35,
            let year = digits(text, 0..<4), text[4] == 0x2D,
            let month = digits(text, 5..<7), text[7] == 0x2D,
            let day = digits(text, 8..<10), text[10] | 0x20 == 0x74,
            let hour = digits(text, 11..<13), text[13] == 0x3A,
            let minute = digits(text, 14..<16), text[16] == 0x3A,
            let second = digits(text, 17..<19), second < 60
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
        guard let offset = offset(text, from: index),
            let local = CivilTime.secondsSince1970(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        return Timestamp(seconds: local - Int64(offset), milliseconds: milliseconds)
    }

    public static func parse(_ text: String) -> Timestamp? { parse(Array(text.utf8).span) }

    /// `seconds` since 1970 in UTC, for years 0 to 9999; the bare number for others.
    public static func text(_ seconds: Int64) -> String {
        guard seconds >= -62_167_219_200, seconds < 253_402_300_800 else { return "\(seconds)" }
        let time = CivilTime(secondsSince1970: seconds)
        return "\(padded(time.year, 4))-\(padded(time.month, 2))-\(padded(time.day, 2))T"
            + "\(padded(time.hour, 2)):\(padded(time.minute, 2)):\(padded(time.second, 2))Z"
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

    private static func padded(_ number: Int, _ digitCount: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
    }
}
