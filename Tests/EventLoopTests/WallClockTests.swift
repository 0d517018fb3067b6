import Bytes
import EventLoop
import Foundation
import Testing

@Suite("The wall clock")
struct WallClockTests {}

extension WallClockTests {
    @Test("writes dates of HTTP and RFC 3339")
    func knownDates() {
        var buffer = ByteBuffer()
        WallClock.appendHTTPDate(seconds: 784_111_777, to: &buffer)
        let date = text(&buffer)
        #expect(date == "Sun, 06 Nov 1994 08:49:37 GMT")
        WallClock.appendTimestamp(seconds: 784_111_777, nanoseconds: 7_999_999, to: &buffer)
        let timestamp = text(&buffer)
        #expect(timestamp == "1994-11-06T08:49:37.007Z")
        #expect(WallClock.timestamp(seconds: -1) == "1969-12-31T23:59:59Z")
    }

    @Test("agrees with another calendar on days across four centuries")
    func calendar() throws {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        var buffer = ByteBuffer()
        for step in 0..<2000 {
            let seconds = Int64(-5_000_000_000 + step * 6_543_211)
            WallClock.appendHTTPDate(seconds: seconds, to: &buffer)
            let ours = text(&buffer)
            #expect(ours == formatter.string(from: Date(timeIntervalSince1970: Double(seconds))))
            #expect(
                WallClock.seconds(fromTimestamp: WallClock.timestamp(seconds: seconds)) == seconds)
        }
    }

    @Test(
        "reads RFC 3339 with any offset",
        arguments: [
            ("1994-11-06T08:49:37Z", 784_111_777), ("1994-11-06t08:49:37.5z", 784_111_777),
            ("1994-11-06 09:49:37.123456+01:00", 784_111_777),
            ("1994-11-05T22:49:37-10:00", 784_111_777), ("2000-02-29T00:00:00Z", 951_782_400),
            ("2016-12-31T23:59:60Z", 1_483_228_800),
        ])
    func reading(text: String, seconds: Int64) {
        #expect(WallClock.seconds(fromTimestamp: text) == seconds)
    }

    @Test(
        "refuses what is no moment",
        arguments: [
            "", "2020", "2020-01-01", "2020-01-01T00:00:00", "2020-13-01T00:00:00Z",
            "2020-00-01T00:00:00Z", "2021-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
            "2020-01-01T24:00:00Z", "2020-01-01T00:60:00Z", "2020-01-01T00:00:00.Z",
            "2020-01-01T00:00:00+24:00", "2020-01-01T00:00:00Zx", "20a0-01-01T00:00:00Z",
            "2020-01-01T00:00:00+0100",
        ])
    func malformed(text: String) {
        #expect(WallClock.seconds(fromTimestamp: text) == nil)
    }

    @Test(
        "writes times of years without four digits as the nearest other, and reads none",
        arguments: [
            (Int64.min, "0000-01-01T00:00:00Z"), (-62_167_219_201, "0000-01-01T00:00:00Z"),
            (253_402_300_800, "9999-12-31T23:59:59Z"), (.max, "9999-12-31T23:59:59Z"),
        ])
    func unnamedYears(seconds: Int64, written: String) {
        #expect(WallClock.timestamp(seconds: seconds) == written)
        for text in ["0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-00:01"] {
            #expect(WallClock.seconds(fromTimestamp: text) == nil)
        }
    }

    @Test("keeps one second's texts for reuse")
    func cached() {
        var clock = WallClockText()
        var buffer = ByteBuffer()
        let before = WallClock.now().seconds
        for _ in 0..<3 {
            clock.appendTimestamp(to: &buffer)
            let timestamp = text(&buffer)
            let seconds = WallClock.seconds(fromTimestamp: timestamp) ?? 0
            #expect(seconds >= before && seconds <= WallClock.now().seconds)
            #expect(timestamp.utf8.count == 24)
        }
        clock.appendHTTPDate(to: &buffer)
        let date = text(&buffer)
        #expect(date.utf8.count == 29 && date.hasSuffix(" GMT"))
    }

    private func text(_ buffer: inout ByteBuffer) -> String {
        defer { buffer.clear() }
        return String(decoding: buffer.readable.array, as: UTF8.self)
    }
}
