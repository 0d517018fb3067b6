import Attestation
import Bytes
import Testing

@Suite("RFC 3339")
struct RFC3339Tests {}

extension RFC3339Tests {
    @Test(
        "reads times as receipts write them",
        arguments: [
            ("1970-01-01T00:00:00Z", 0, 0), ("2020-08-16T13:44:24.32Z", 1_597_585_464, 320),
            ("2021-01-23T12:26:41.564Z", 1_611_404_801, 564),
            ("2026-09-30T23:59:59.9Z", 1_790_812_799, 900),
            ("2000-02-29T12:00:00Z", 951_825_600, 0),
            ("1996-12-19T16:39:57-08:00", 851_042_397, 0),
            ("1969-12-31T23:59:59Z", -1, 0), ("2026-01-01t00:00:00z", 1_767_225_600, 0),
            ("2026-01-01T00:00:00.123456789+01:30", 1_767_220_200, 123),
        ])
    func parse(text: String, seconds: Int64, milliseconds: Int) {
        #expect(
            RFC3339.parse(text) == Timestamp(seconds: seconds, milliseconds: milliseconds))
    }

    @Test(
        "refuses anything else",
        arguments: [
            "", "2026", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.1234567890Z", "2026-01-01T00:00:00ZZ", "2026-01-00T00:00:00Z",
            "2026-01-01T00:00:00+0100", "2026-01-01T00:00:00+01:0", "2026-01-01T00:00:00+24:00",
            "20x6-01-01T00:00:00Z", "2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00.5",
        ])
    func refuse(text: String) {
        #expect(RFC3339.parse(text) == nil)
    }

    @Test("writes what it reads, day by day")
    func roundTrip() {
        for day in stride(from: Int64(-719_000), to: 2_900_000, by: 371) {
            let seconds = day * 86400 + (day & 0xFFF)
            #expect(RFC3339.parse(RFC3339.text(seconds))?.seconds == seconds)
        }
        #expect(RFC3339.text(1_767_225_600) == "2026-01-01T00:00:00Z")
        #expect(Timestamp(seconds: 0, milliseconds: 7).text == "1970-01-01T00:00:00.007Z")
        #expect(RFC3339.text(.max) == "\(Int64.max)")
        #expect(RFC3339.text(.min) == "\(Int64.min)")
    }
}
