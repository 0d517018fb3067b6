import Bytes
import Foundation
import Telemetry
import Testing

@Suite("A log line")
struct JSONLineTests {
    @Test("is one JSON object with its members in order")
    func members() throws {
        var line = JSONLine()
        line.begin()
        line.member("time", plain: { $0.append("2026-10-01T00:00:00.000Z") })
        line.member("route", "transfer")
        line.member("decision", word: "refused")
        line.member("status", 401 as UInt64)
        line.member("delta", -5)
        line.member("least", Int.min)
        line.member("most", UInt64.max)
        line.member("reused", true)
        line.member("spooled", false)
        line.null("key")
        line.milliseconds("duration_ms", nanoseconds: 12_345_999)
        line.milliseconds("none_ms", nanoseconds: 7_000)
        line.end()
        line.begin()
        line.end()
        let text = String(decoding: line.buffer.readable.array, as: UTF8.self)
        #expect(
            text == """
                {"time":"2026-10-01T00:00:00.000Z","route":"transfer","decision":"refused",\
                "status":401,"delta":-5,"least":-9223372036854775808,\
                "most":18446744073709551615,"reused":true,"spooled":false,"key":null,\
                "duration_ms":12.345,"none_ms":0.007}
                {}

                """)
    }

    @Test("gives back every character it was given")
    func everyCharacter() throws {
        var scalars = String.UnicodeScalarView()
        for value in (0...0x2FF as ClosedRange<UInt32>) {
            if let scalar = Unicode.Scalar(value) { scalars.append(scalar) }
        }
        for value: UInt32 in [
            0x7FF, 0x800, 0x2028, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x10FFFF,
        ] {
            if let scalar = Unicode.Scalar(value) { scalars.append(scalar) }
        }
        let text = String(scalars)
        let line = encoded(Array(text.utf8))
        #expect(try decoded(line) == text)
        // Nothing that ends a line or steers a terminal is left as it was.
        #expect(line.dropLast().allSatisfy { $0 >= 0x20 && $0 != 0x7F })
        let written = String(decoding: line, as: UTF8.self)
        let unescaped = written.unicodeScalars.filter { (0x80...0x9F).contains($0.value) }
        #expect(unescaped.isEmpty)
        var whole = JSONLine()
        whole.begin()
        whole.member("text", text)
        whole.end()
        let fromString = whole.buffer.readable.array
        #expect(fromString == line)
    }

    @Test("replaces what is no UTF-8, just as the standard library does")
    func invalid() throws {
        var state: UInt64 = 7
        let alphabet: [UInt8] = [
            0x41, 0x22, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0,
            0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF,
        ]
        for _ in 0..<20_000 {
            var bytes: [UInt8] = []
            for _ in 0..<6 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes.append(alphabet[Int(state >> 33) % alphabet.count])
            }
            #expect(try decoded(encoded(bytes)) == String(decoding: bytes, as: UTF8.self))
        }
    }

    private func encoded(_ bytes: [UInt8]) -> [UInt8] {
        var line = JSONLine(capacity: 64)
        line.begin()
        line.member("text", bytes.span)
        line.end()
        return line.buffer.readable.array
    }

    private func decoded(_ line: [UInt8]) throws -> String? {
        let object = try JSONSerialization.jsonObject(with: Data(line)) as? [String: String]
        return object?["text"]
    }
}
