public import Bytes
import CLibevent
import CLinux

/// The time of day, which may step: for certificates, challenges and log lines, never for waiting.
public enum WallClock {
    /// The time since 1 January 1970, UTC.
    public static func now() -> (seconds: Int64, nanoseconds: Int32) {
        var time = timespec()
        let status = unsafe clock_gettime(CLOCK_REALTIME, &time)
        precondition(status == 0, "no clock")
        return (Int64(time.tv_sec), Int32(truncatingIfNeeded: time.tv_nsec))
    }

    /// The milliseconds from 1970-01-01T00:00:00Z to `time`, rounded down.
    public static func milliseconds(of time: (seconds: Int64, nanoseconds: Int32) = now()) -> Int64
    {
        time.seconds * 1000 + Int64(time.nanoseconds) / 1_000_000
    }

    /// Appends `Sun, 06 Nov 1994 08:49:37 GMT` (IMF-fixdate, RFC 9110 section 5.6.7).
    public static func appendHTTPDate(seconds: Int64, to buffer: inout ByteBuffer) {
        let time = civil(seconds)
        buffer.append(weekdayNames[time.weekday])
        buffer.append(", ")
        appendDigits(time.day, count: 2, to: &buffer)
        buffer.append(UInt8(0x20))
        buffer.append(monthNames[time.month - 1])
        buffer.append(UInt8(0x20))
        appendDigits(time.year, count: 4, to: &buffer)
        buffer.append(UInt8(0x20))
        appendTime(time, to: &buffer)
        buffer.append(" GMT")
    }

    /// Appends `1994-11-06T08:49:37.123Z` (RFC 3339).
    public static func appendTimestamp(
        seconds: Int64, nanoseconds: Int32, to buffer: inout ByteBuffer
    ) {
        appendDateTime(seconds: seconds, to: &buffer)
        appendMilliseconds(nanoseconds, to: &buffer)
    }

    /// Text such as `1994-11-06T08:49:37Z` (RFC 3339).
    public static func timestamp(seconds: Int64) -> String {
        var buffer = ByteBuffer(capacity: 32)
        appendDateTime(seconds: seconds, to: &buffer)
        buffer.append(UInt8(0x5A))
        return String(decoding: buffer.readable.array, as: UTF8.self)
    }

    /// Parses an RFC 3339 date and time with `Z` or an offset; nil if it is malformed, or of a year
    /// in UTC that has not four digits. A fraction of the second is dropped.
    public static func seconds(fromTimestamp text: String) -> Int64? {
        let bytes = Array(text.utf8)
        var reader = TimestampReader(bytes: bytes)
        guard let seconds = reader.read(), named.contains(seconds) else { return nil }
        return seconds
    }

    static func appendDateTime(seconds: Int64, to buffer: inout ByteBuffer) {
        let time = civil(seconds)
        appendDigits(time.year, count: 4, to: &buffer)
        buffer.append(UInt8(0x2D))
        appendDigits(time.month, count: 2, to: &buffer)
        buffer.append(UInt8(0x2D))
        appendDigits(time.day, count: 2, to: &buffer)
        buffer.append(UInt8(0x54))
        appendTime(time, to: &buffer)
    }

    /// The years that RFC 3339 can name. Other times come from damaged stores alone.
    private static let named: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// The date and time, or the nearest with a year of four digits.
    private static func civil(_ seconds: Int64) -> CivilTime {
        CivilTime(secondsSince1970: min(max(seconds, named.lowerBound), named.upperBound))
    }

    static func appendMilliseconds(_ nanoseconds: Int32, to buffer: inout ByteBuffer) {
        buffer.append(UInt8(0x2E))
        appendDigits(Int(nanoseconds) / 1_000_000, count: 3, to: &buffer)
        buffer.append(UInt8(0x5A))
    }

    private static let weekdayNames: [StaticString] = [
        "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat",
    ]
    private static let monthNames: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func appendTime(_ time: CivilTime, to buffer: inout ByteBuffer) {
        appendDigits(time.hour, count: 2, to: &buffer)
        buffer.append(UInt8(0x3A))
        appendDigits(time.minute, count: 2, to: &buffer)
        buffer.append(UInt8(0x3A))
        appendDigits(time.second, count: 2, to: &buffer)
    }

    /// Appends digits at a fixed width with leading zeros; higher digits are cut.
    private static func appendDigits(_ number: Int, count: Int, to buffer: inout ByteBuffer) {
        var divisor = 1
        for _ in 1..<count { divisor *= 10 }
        while divisor > 0 {
            buffer.append(UInt8(truncatingIfNeeded: number / divisor % 10) + 0x30)
            divisor /= 10
        }
    }
}

/// The texts of the present second, which a worker formats once in that second.
public struct WallClockText: ~Copyable {
    private var second = Int64.min
    private var httpDate = ByteBuffer(capacity: 32)
    private var dateTime = ByteBuffer(capacity: 32)

    public init() {}

    /// The `Date` field's value.
    public mutating func appendHTTPDate(to buffer: inout ByteBuffer) {
        refresh(WallClock.now().seconds)
        buffer.append(httpDate.readable)
    }

    /// The `Date` field's line.
    public mutating func appendDateLine(to buffer: inout ByteBuffer) {
        buffer.append("Date: ")
        appendHTTPDate(to: &buffer)
        buffer.append("\r\n")
    }

    /// Appends RFC 3339 text in milliseconds.
    public mutating func appendTimestamp(to buffer: inout ByteBuffer) {
        let now = WallClock.now()
        refresh(now.seconds)
        buffer.append(dateTime.readable)
        WallClock.appendMilliseconds(now.nanoseconds, to: &buffer)
    }

    private mutating func refresh(_ seconds: Int64) {
        guard seconds != second else { return }
        second = seconds
        httpDate.clear()
        WallClock.appendHTTPDate(seconds: seconds, to: &httpDate)
        dateTime.clear()
        WallClock.appendDateTime(seconds: seconds, to: &dateTime)
    }
}

/// Parses `date-time` of RFC 3339 section 5.6.
private struct TimestampReader {
    let bytes: [UInt8]
    var offset = 0

    mutating func read() -> Int64? {
        guard let year = digits(4), take("-"), let month = digits(2), take("-"),
            let day = digits(2), take("T") || take("t") || take(" "), let hour = digits(2),
            take(":"), let minute = digits(2), take(":"), let second = digits(2)
        else { return nil }
        if take(".") {
            guard digits(1) != nil else { return nil }
            while digits(1) != nil {}
        }
        guard let offsetSeconds = zone(), offset == bytes.count,
            let local = CivilTime.secondsSince1970(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        return local - Int64(offsetSeconds)
    }

    private mutating func zone() -> Int? {
        if take("Z") || take("z") { return 0 }
        let sign: Int
        if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
        guard let hours = digits(2), take(":"), let minutes = digits(2), hours < 24, minutes < 60
        else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard offset < bytes.count, UInt32(bytes[offset]) == character.value else { return false }
        offset += 1
        return true
    }

    private mutating func digits(_ count: Int) -> Int? {
        guard bytes.count - offset >= count else { return nil }
        var value = 0
        for index in offset..<offset + count {
            guard (0x30...0x39).contains(bytes[index]) else { return nil }
            value = value * 10 + Int(bytes[index] - 0x30)
        }
        offset += count
        return value
    }
}
