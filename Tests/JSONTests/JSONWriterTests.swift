import Bytes
import JSON
import Testing

@Suite("JSONWriter")
struct JSONWriterTests {}

extension JSONWriterTests {
    private func text(_ writer: consuming JSONWriter) -> String {
        String(decoding: writer.finish().readable.array, as: UTF8.self)
    }

    @Test("puts commas and colons where they belong")
    func structure() {
        var json = JSONWriter()
        json.beginObject()
        json.member("a", string: "x")
        json.member("b", int: -5)
        json.beginObject("c")
        json.endObject()
        json.beginArray("d")
        json.element(int: 1)
        json.element(string: "y")
        json.beginObject()
        json.member("e", bool: true)
        json.null("f")
        json.endObject()
        json.beginArray()
        json.endArray()
        json.endArray()
        json.member("g", double: 1.5)
        json.member("h", unsigned: .max)
        json.member("i", double: .infinity)
        json.member("j", constant: "k")
        json.member("l", quoted: .max)
        json.member("m", digitsOf: Bytes16(word0: 0xAB, word1: 1))
        json.beginArray("n")
        json.element(quoted: 7)
        json.element(double: 0.5)
        json.endArray()
        json.endObject()
        json.raw("\n")
        #expect(
            text(json)
                == #"{"a":"x","b":-5,"c":{},"d":[1,"y",{"e":true,"f":null},[]],"g":1.5,"#
                + #""h":18446744073709551615,"i":null,"j":"k","#
                + #""l":"18446744073709551615","m":"00000000000000ab0000000000000001","#
                + #""n":["7",0.5]}"# + "\n")
    }

    @Test("writes one text after the other into the same buffer")
    func reset() {
        var json = JSONWriter()
        json.beginObject()
        json.member("a", int: .min)
        json.reset()
        json.beginObject()
        json.member("b", int: 0)
        json.endObject()
        #expect(text(json) == #"{"b":0}"#)
    }

    @Test("escapes so that the strict reader gives every string back")
    func escapes() throws {
        let scalars = (0...0x2FF).compactMap(Unicode.Scalar.init).map(Character.init)
        let string = String(scalars.dropFirst()) + "\u{2028}\u{FFFF}\u{10FFFF}😀\"\\"
        var json = JSONWriter()
        json.beginObject()
        json.member("s", string: string)
        json.member("b", bytes: Array(string.utf8).span)
        json.endObject()
        let reader = try JSONObjectReader(parsing: json.buffer.readable, byteCountMax: 100_000)
        #expect(reader.string("s") == Array(string.utf8))
        #expect(reader.string("b") == Array(string.utf8))
    }

    @Test("replaces bytes that are not UTF-8")
    func replaces() {
        let bytes: [UInt8] = [
            0x61, 0xFF, 0xC0, 0x80, 0xED, 0xA0, 0x80, 0x00, 0x7F, 0xF4, 0x90, 0x80, 0x80, 0xE2,
            0x82,
        ]
        var json = JSONWriter()
        json.beginArray()
        json.endArray()
        json.reset()
        json.beginObject()
        json.member("b", bytes: bytes.span)
        json.endObject()
        let replaced = String(repeating: "\u{FFFD}", count: 6)
        let tail = String(repeating: "\u{FFFD}", count: 6)
        #expect(text(json) == #"{"b":"a"# + replaced + #"\u0000\u007f"# + tail + #""}"#)
    }

    @Test("writes a value so that it reads back the same")
    func values() throws {
        let value = JSONValue.object([
            "z": .array([.integer(1), .number(0.1), .null, .bool(false)]),
            "a": .object(["\"": .string("\u{1}")]),
        ])
        var json = JSONWriter()
        json.element(value)
        #expect(try JSONValue.parse(json.buffer.readable, byteCountMax: 1000) == value)
        #expect(text(json) == #"{"a":{"\"":"\u0001"},"z":[1,0.1,null,false]}"#)
    }
}
