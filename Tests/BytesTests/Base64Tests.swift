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
}
