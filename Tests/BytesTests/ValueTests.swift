import Bytes
import Testing

@Suite("Thirty-two and sixteen bytes")
struct FixedBytesTests {
    let counting = (0..<32).map { UInt8($0 * 7) }
}

extension FixedBytesTests {
    @Test("read back as they were given, byte by byte and whole")
    func roundTrip() throws {
        let value = try #require(Bytes32(counting))
        #expect(value.array == counting)
        #expect((0..<32).map { value[$0] } == counting)
        let first = Array(counting.prefix(16))
        let half = Bytes16(first.span)
        #expect(half?.array == first)
    }

    @Test("take no other count", arguments: [0, 1, 15, 16, 17, 31, 33, 64])
    func counts(count: Int) {
        let bytes = [UInt8](repeating: 1, count: count)
        #expect(Bytes32(bytes) == nil)
        let half = Bytes16(bytes.span)
        #expect((half == nil) == (count != 16))
    }

    @Test("differ, hash and order as their bytes do, first byte first")
    func order() throws {
        for index in 0..<32 {
            var larger = counting
            larger[index] += 1
            let left = try #require(Bytes32(counting))
            let right = try #require(Bytes32(larger))
            #expect(left != right)
            #expect(left < right)
            #expect(!(right < left))
            #expect(Set([left, right, left]).count == 2)
        }
        #expect(Bytes32.zero.array == [UInt8](repeating: 0, count: 32))
    }
}

@Suite("Hexadecimal text")
struct HexTests {}

extension HexTests {
    @Test("reads back what it wrote, in either case")
    func roundTrip() {
        let bytes = (0...255).map { UInt8($0) }
        #expect(Hex.decode(Hex.encode(bytes)) == bytes)
        #expect(Hex.decode(Hex.encode(bytes).uppercased()) == bytes)
        #expect(Hex.decode("")?.isEmpty == true)
    }

    @Test("refuses anything else", arguments: ["0", "0g", "g0", " 00", "0x00", "00 ", "é0", "+1"])
    func refuses(text: String) {
        #expect(Hex.decode(text) == nil)
    }
}

@Suite("ASCII")
struct ASCIITests {}

extension ASCIITests {
    func decimal(_ text: String) -> UInt64? { ASCII.decimal(Array(text.utf8).span) }

    @Test("reads decimal numbers up to the largest, and no further")
    func numbers() {
        #expect(decimal("0") == 0)
        #expect(decimal("007") == 7)
        #expect(decimal("18446744073709551615") == .max)
        for text in [
            "", "-1", "+1", " 1", "1 ", "1.0", "0x1", "18446744073709551616",
            "99999999999999999999", "184467440737095516150", "१",
        ] {
            #expect(decimal(text) == nil, "\(text)")
        }
    }

    @Test("folds the case of letters only")
    func folding() {
        func equals(_ bytes: [UInt8], _ text: String) -> Bool {
            ASCII.equalsIgnoringCase(bytes.span, lowercase: Array(text.utf8))
        }
        #expect(equals(Array("Content-LENGTH".utf8), "content-length"))
        #expect(!equals(Array("content-lengt".utf8), "content-length"))
        #expect(!equals([0x40], "`"))
        #expect(!equals([0x5B], "{"))
        for byte in UInt8.min...UInt8.max where !(0x41...0x5A).contains(byte) {
            #expect(ASCII.lowercased(byte) == byte)
        }
        #expect(ASCII.lowercased(0x41) == 0x61 && ASCII.lowercased(0x5A) == 0x7A)
        let all = Array(UInt8.min...UInt8.max)
        #expect(ASCII.lowercased(all.span) == all.map { ASCII.lowercased($0) })
        let (some, others) = (Array("aB@[".utf8), ["Ab@[", "aB`{", "aB@", "aB@[ "])
        #expect(
            others.map { ASCII.equalsIgnoringCase(some.span, Array($0.utf8).span) } == [
                true, false, false, false,
            ])
    }

    @Test("tells equal bytes from others, with their case")
    func exact() {
        func equals(_ bytes: String, _ text: String) -> Bool {
            let (bytes, text) = (Array(bytes.utf8), Array(text.utf8))
            let isEqual = ASCII.equals(bytes.span, text)
            #expect(ASCII.equals(bytes.span, text.span) == isEqual)
            return isEqual
        }
        #expect(equals("GET", "GET") && equals("", ""))
        #expect(!equals("get", "GET") && !equals("GETS", "GET") && !equals("", "G"))
    }
}

@Suite("A byte reader")
struct ByteReaderTests {}

extension ByteReaderTests {
    @Test("takes bytes off the front and is nil beyond the end, without moving")
    func reading() {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
        var reader = ByteReader(bytes.span)
        let first = reader.readByte()
        #expect(first == 1)
        let pair = reader.readInteger(byteCount: 2)
        #expect(pair == 0x0203)
        let word = reader.readInteger(byteCount: 8)
        #expect(word == 0x0405_0607_0809_0A0B)
        for byteCount in [0, -1, 2, 9, .max] {
            let beyond = reader.readInteger(byteCount: byteCount)
            #expect(beyond == nil)
        }
        for byteCount in [-1, 2, .max] {
            let count = reader.readSpan(byteCount: byteCount)?.count
            #expect(count == nil)
        }
        let (offset, remaining) = (reader.offset, reader.remainingCount)
        #expect(offset == 11 && remaining == 1)
        let last = reader.readSpan(byteCount: 1)?.array
        #expect(last == [12])
        let isAtEnd = reader.isAtEnd
        #expect(isAtEnd)
        let nothing = reader.readSpan(byteCount: 0)?.count
        #expect(nothing == 0)
        let beyond = reader.readByte()
        #expect(beyond == nil)
    }
}
