import JSON
import Testing

@Suite("JSONValue")
struct JSONValueTests {}

extension JSONValueTests {
    @Test("refuses a NUL wherever it is, and says where")
    func nul() {
        let text = Array(#"{"numbers":[1,2,3],"b":true}"#.utf8)
        for offset in 0...text.count {
            let damaged = text[..<offset] + [0] + text[offset...]
            #expect(throws: JSONError.malformed(offset: offset)) {
                _ = try JSONValue.parse(Array(damaged).span, byteCountMax: 100)
            }
        }
    }

    @Test("holds every kind of value")
    func kinds() throws {
        let text = #"{"o":{},"a":[1,-9223372036854775808,1.5,"s",true,false,null]}"#
        let value = try JSONValue.parse(Array(text.utf8).span, byteCountMax: 100)
        #expect(
            value
                == .object([
                    "o": .object([:]),
                    "a": .array([
                        .integer(1), .integer(.min), .number(1.5), .string("s"), .bool(true),
                        .bool(false), .null,
                    ]),
                ]))
        #expect(value["a"]?.arrayValue?.count == 7)
        #expect(value["x"] == nil)
    }

    @Test("takes single values too", arguments: ["1", "\"a\"", "null", "[]", " true "])
    func singleValues(text: String) throws {
        _ = try JSONValue.parse(Array(text.utf8).span, byteCountMax: 100)
    }

    @Test("refuses two names that Swift cannot tell apart")
    func canonicallyEqualNames() throws {
        let text = Array("{\"\u{E9}\":1,\"e\u{301}\":2}".utf8)
        #expect(throws: JSONError.duplicateMember(offset: 0)) {
            _ = try JSONValue.parse(text.span, byteCountMax: 100)
        }
        let reader = try JSONObjectReader(parsing: text.span, byteCountMax: 100)
        #expect(reader.integer("\u{E9}") == 1)
        #expect(reader.integer("e\u{301}") == 2)
    }

    @Test("reads nesting up to the bound and no deeper")
    func depth() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array(
                (String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        _ = try JSONValue.parse(nested(16).span, byteCountMax: 10_000)
        #expect(throws: JSONError.tooDeep(depthMax: 16)) {
            _ = try JSONValue.parse(nested(17).span, byteCountMax: 10_000)
        }
        #expect(throws: JSONError.tooDeep(depthMax: 16)) {
            _ = try JSONValue.parse(
                [UInt8](repeating: 0x5B, count: 1_000_000).span, byteCountMax: 1_000_000)
        }
    }
}
