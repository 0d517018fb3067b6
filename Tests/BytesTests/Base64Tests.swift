import Bytes
import Testing

@Suite("Base64")
struct Base64Tests {}

extension Base64Tests {
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

    /// Thirty-nine digits are read eight at a time, and a rest of seven.
    @Test("takes a byte only where an alphabet has it, in long texts too", arguments: 0..<39)
    func everyByteOfBlocks(place: Int) {
        let standard = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let digits = standard.union("-_".utf8)
        let lastDigits = Set("AEIMQUYcgkosw048".utf8)
        for byte in UInt8.min...UInt8.max {
            var text = [UInt8](repeating: 0x41, count: 39)
            text[place] = byte
            let isDigit = (place == 38 ? lastDigits : digits).contains(byte)
            #expect((Base64.decode(text.span) != nil) == isDigit, "byte \(byte)")
            // A digit of the other alphabet, wherever it is.
            text[(place + 17) % 38] = UInt8(ascii: "-")
            let isAlone = isDigit && byte != UInt8(ascii: "+") && byte != UInt8(ascii: "/")
            #expect((Base64.decode(text.span) != nil) == isAlone, "byte \(byte)")
        }
    }

    @Test("reads into memory that is there, up to a bound")
    func reused() {
        let bytes = (0..<100).map { UInt8($0) }
        let text = Base64.encodeBytes(bytes)
        var storage: [UInt8] = []
        storage.reserveCapacity(200)
        let capacity = storage.capacity
        let isRead = Base64.decode(text.span, atMost: 100, into: &storage)
        #expect(isRead && storage == bytes && storage.capacity == capacity)
        let isTooLong = !Base64.decode(text.span, atMost: 99, into: &storage)
        #expect(isTooLong)
        let short = Array("AAEC".utf8)
        let isReadAgain = Base64.decode(short.span, atMost: 99, into: &storage)
        #expect(isReadAgain && storage == [0, 1, 2] && storage.capacity == capacity)
        let isRefused = !Base64.decode(Array("AA=A".utf8).span, atMost: 99, into: &storage)
        #expect(isRefused && storage.isEmpty)
        let late = Array("AAECAAECAA=A".utf8)
        let isRefusedLate = !Base64.decode(late.span, atMost: 99, into: &storage)
        #expect(isRefusedLate && storage.isEmpty)
    }

    @Test("reads and writes without memory of its own")
    func inPlace() {
        for count in [0, 1, 2, 3, 31, 32, 33, 254, 255, 256] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 91 + 7) }
            let text = Base64.encodeURLBytes(bytes)
            #expect(Base64.withDecoded(text.span) { $0.array } == bytes)
            var output = ByteBuffer()
            output.append("x")
            Base64.appendURL(to: &output) { for byte in bytes { $0.append(byte) } }
            #expect(output.readable.array == [0x78] + text)
        }
        let long = Base64.encodeBytes([UInt8](repeating: 1, count: 257))
        #expect(Base64.withDecoded(long.span) { $0.array } == nil)
        let digest = Bytes32(word0: 1, word1: .max, word2: 0x0123_4567_89AB_CDEF, word3: 42)
        var output = ByteBuffer()
        Base64.append(digest, to: &output)
        #expect(output.readable.array == Base64.encodeBytes(digest.array))
    }

    @Test("refuses two alphabets in one text, however far apart")
    func mixedAlphabets() {
        for (first, second) in [("+", "-"), ("/", "_"), ("-", "/"), ("_", "+")] {
            #expect(Base64.decode("AA\(first)AAAAAAAAA\(second)AA") == nil)
            #expect(Base64.decode("AAAA\(first)\(second)") == nil)
        }
    }
}
