import Bytes
import Testing

@Suite("Base64")
struct Base64Tests {
    @Test("reads both alphabets, padded or not", arguments: ["+/8=", "+/8", "-_8", "-_8="])
    func bothAlphabets(text: String) {
        #expect(Base64.decode(text) == [0xFB, 0xFF])
    }

    @Test(
        "refuses every other spelling",
        arguments: [
            "+_8=", "-/8", "+/9=", "A", "AA=A", "AAA==", "AA===", "A===", " AAAA", "AAA\n", "====",
            "AAAA=",
        ])
    func refuses(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test("reads back what it wrote, at every remainder of three")
    func roundTrip() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + 11) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64.decode(Base64.encodeURL(bytes)) == bytes)
        }
    }

    /// Each byte in each place of a group and of a rest, against the definition of the alphabets.
    @Test("takes a byte only where an alphabet has it", arguments: 0..<11)
    func everyByte(place: Int) {
        let digits = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_".utf8)
        // The last of eleven digits has two spare bits, which must be zero.
        let lastDigits = Set("AEIMQUYcgkosw048".utf8)
        for byte in UInt8.min...UInt8.max {
            var text = Array("AAAAAAAAAAA".utf8)
            text[place] = byte
            let isDigit = (place == 10 ? lastDigits : digits).contains(byte)
            #expect((Base64.decode(text.span) != nil) == isDigit, "byte \(byte)")
        }
    }

    @Test("refuses two alphabets in one text, however far apart")
    func mixedAlphabets() {
        for (first, second) in [("+", "-"), ("/", "_"), ("-", "/"), ("_", "+")] {
            #expect(Base64.decode("AA\(first)AAAAAAAAA\(second)AA") == nil)
            #expect(Base64.decode("AAAA\(first)\(second)") == nil)
        }
    }
}
