import JSON
import Testing

@Suite("JSONNumber")
struct JSONNumberTests {}

extension JSONNumberTests {
    private func number(_ text: String) throws -> JSONNumber {
        try #require(JSONNumber(text), "\(text)")
    }

    @Test("is equal to other texts of the same value, and to no other")
    func equality() throws {
        let same = [
            ["0", "-0", "0.0", "0e5", "-0.00e-7"],
            ["1024", "1024.0", "1.024e3", "1.024E+03", "102400e-2", "0.1024e4"],
            ["-2.5", "-2.50", "-25e-1"], ["0.001", "1e-3", "10e-4"],
            ["9007199254740993"], ["9007199254740992"], ["1e1000000"],
        ]
        for (index, texts) in same.enumerated() {
            for text in texts { #expect(try number(text) == number(texts[0]), "\(text)") }
            for other in same[(index + 1)...] {
                #expect(try number(texts[0]) != number(other[0]))
            }
        }
    }

    @Test("is ordered by its exact value")
    func order() throws {
        let ordered = [
            "-1e300", "-1024", "-1023.9", "-1", "-0.5", "-0.05", "0", "1e-9", "0.05", "0.5", "1",
            "1.00000000000000000000000000001", "2", "9.9", "10", "1024", "1024.0000000000000000001",
            "9007199254740992", "9007199254740993", "18446744073709551615", "1e300", "1e1000000",
        ]
        for (index, text) in ordered.enumerated() {
            for (otherIndex, other) in ordered.enumerated() {
                #expect(
                    try (number(text) < number(other)) == (index < otherIndex), "\(text) \(other)")
            }
        }
    }

    @Test("is an integer if it is whole, not negative, and fits 64 bits")
    func integers() throws {
        let values: [(String, UInt64?)] = [
            ("0", 0), ("-0", 0), ("7", 7), ("1.5e1", 15), ("100", 100), ("1e3", 1000), ("10e-1", 1),
            ("18446744073709551615", .max), ("18446744073709551616", nil), ("1e20", nil),
            ("99999999999999999999", nil), ("1e1000000", nil), ("-1", nil), ("0.5", nil),
            ("1.5", nil), ("1e-1", nil),
        ]
        for (text, value) in values {
            #expect(try number(text).unsignedInteger == value, "\(text)")
        }
    }

    @Test("is no other text, and no longer one")
    func refusals() {
        let others = [
            "", "-", "+1", "01", "-01", ".5", "1.", "1e", "1e+", "0x10", "1 ", " 1", "1_000", "NaN",
            "Infinity", "true", "1e1000001", "1e99999999999999999999999", "0e1000001",
            String(repeating: "1", count: 33),
        ]
        for text in others { #expect(JSONNumber(text) == nil, "\(text)") }
    }
}
