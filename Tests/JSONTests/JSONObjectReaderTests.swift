import JSON
import Testing

@Suite("JSONObjectReader")
struct JSONObjectReaderTests {}

extension JSONObjectReaderTests {
    @Test("gives the bytes of string members, unescaped")
    func strings() throws {
        let text = Array(
            #"{"challenge":"a/b+c=","path":"/\u00fc\ud83d\ude00\/x","empty":"","n":7}"#.utf8)
        let reader = try JSONObjectReader(parsing: text.span, byteCountMax: 1024)
        #expect(reader.string("challenge") == Array("a/b+c=".utf8))
        #expect(reader.string("path") == Array("/ü😀/x".utf8))
        #expect(reader.string(named: "empty") == [])
        #expect(reader.string("n") == nil)
        #expect(reader.has("n") == true)
        #expect(reader.integer("n") == 7)
        #expect(reader.integer("empty") == nil)
        #expect(reader.string("absent") == nil)
        #expect(reader.has("absent") == false)
        #expect(reader.has(named: "") == false)
        #expect(reader.memberCount == 4)
        #expect(reader.span("challenge")?.count == 6)
    }

    @Test("looks into objects and arrays one level down")
    func nested() throws {
        let text = Array(#"{"o":{"k":"v","n":1},"a":["x","y",3],"s":"x"}"#.utf8)
        let reader = try JSONObjectReader(parsing: text.span, byteCountMax: 1024)
        #expect(reader.string("k", in: "o") == Array("v".utf8))
        #expect(reader.string("n", in: "o") == nil)
        #expect(reader.string("k", in: "a") == nil)
        #expect(reader.string("k", in: "s") == nil)
        #expect(reader.string("k", in: "absent") == nil)
        #expect(reader.contains("y", inArray: "a") == true)
        #expect(reader.contains("z", inArray: "a") == false)
        #expect(reader.contains("x", inArray: "s") == false)
        #expect(reader.contains("x", inArray: "absent") == false)
    }

    @Test("tells why it refuses", arguments: refusals)
    func refuses(text: String, error: JSONError) {
        #expect(throws: error) {
            _ = try JSONObjectReader(
                parsing: Array(text.utf8).span, byteCountMax: 100, depthMax: 3)
        }
    }

    static let refusals: [(String, JSONError)] = [
        ("", .truncated),
        (" ", .truncated),
        ("{", .truncated),
        (#"{"a":"b"#, .truncated),
        ("[1]", .notAnObject),
        ("\"a\"", .notAnObject),
        ("null", .notAnObject),
        (#"{"a":"1","a":"1"}"#, .duplicateMember(offset: 12)),
        (#"{"a":"1","\u0061":"1"}"#, .duplicateMember(offset: 17)),
        (#"{"x":{"a":1,"a":1}}"#, .duplicateMember(offset: 15)),
        (#"{"a":"\u0000"}"#, .nulCharacter(offset: 13)),
        (#"{"\u0000":"a"}"#, .nulCharacter(offset: 9)),
        (#"{"a":"1"} x"#, .trailingBytes(offset: 11)),
        (#"{"a":"1"}{}"#, .trailingBytes(offset: 10)),
        (#"{"a":"1",}"#, .malformed(offset: 10)),
        (#"{a:"1"}"#, .malformed(offset: 2)),
        (#"{'a':"1"}"#, .malformed(offset: 2)),
        (#"{"a":01}"#, .malformed(offset: 6)),
        (#"{"a":NaN}"#, .malformed(offset: 8)),
        (#"{"a":"\ud800"}"#, .malformed(offset: 13)),
        (#"{"a":"\x41"}"#, .malformed(offset: 8)),
        ("{\"a\":\"\n\"}", .malformed(offset: 6)),
        // jansson skips a NUL where a number or a literal ends.
        ("{\"a\":1e99\0}", .malformed(offset: 9)),
        ("{\"a\":1\0,\"b\":2}", .malformed(offset: 6)),
        ("{\"a\":true\0}", .malformed(offset: 9)),
        ("{\"a\":1}\0", .malformed(offset: 7)),
        (#"{"a":123456789012345678901234567890}"#, .numberOutOfRange(offset: 35)),
        (#"{"a":1e999}"#, .numberOutOfRange(offset: 10)),
        (#"{"a":[[[]]]}"#, .tooDeep(depthMax: 3)),
        (#"[[[["#, .tooDeep(depthMax: 3)),
        (#"{"\"[[[[":1,"\\":[["#, .truncated),
        (String(repeating: " ", count: 101), .tooLarge(byteCountMax: 100)),
    ]

    @Test("takes brackets inside strings for what they are")
    func bracketsInStrings() throws {
        let text = Array(#"{"a":"[[[[{{{{\"[[[[\\","b":[["x"]]}"#.utf8)
        let reader = try JSONObjectReader(parsing: text.span, byteCountMax: 100, depthMax: 3)
        #expect(reader.string("a") == Array(#"[[[[{{{{"[[[[\"#.utf8))
    }

    @Test("refuses bytes that are not UTF-8")
    func notUTF8() {
        for bad: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xC3], [0x80]] {
            let text = Array(#"{"a":""#.utf8) + bad + Array(#""}"#.utf8)
            #expect(throws: JSONError.self) {
                _ = try JSONObjectReader(parsing: text.span, byteCountMax: 100)
            }
        }
        let mark = [0xEF, 0xBB, 0xBF] + Array("{}".utf8)
        #expect(throws: JSONError.self) {
            _ = try JSONObjectReader(parsing: mark.span, byteCountMax: 100)
        }
    }

    @Test("survives every single-byte change of a real text")
    func mutations() {
        let text = Array(#"{"challenge":"AA\u00e9","path":"/x","list":[1,-2.5e3,true,null]}"#.utf8)
        var accepted = 0
        for index in text.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = text
                changed[index] = byte
                if let reader = try? JSONObjectReader(parsing: changed.span, byteCountMax: 100) {
                    accepted += reader.memberCount
                }
            }
            let cut = Array(text.prefix(index))
            #expect(throws: JSONError.self) {
                _ = try JSONObjectReader(parsing: cut.span, byteCountMax: 100)
            }
        }
        #expect(accepted > 0)
    }
}
