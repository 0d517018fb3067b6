import JSON
import Testing

@Suite("JSONScanner")
struct JSONScannerTests {}

extension JSONScannerTests {
    private static func search(
        _ names: [String], candidates: Int = 0
    ) -> JSONScanner.Search {
        JSONScanner.Search(
            pointers: names.map { JSONPointer(name: Array($0.utf8)) }, stringByteCountMax: 8,
            candidateCountMax: candidates,
            isCandidate: candidates == 0 ? nil : { $0.count > 1 && $0[0] == UInt8(ascii: "!") })
    }

    private func find(
        _ names: [String] = ["a"], in text: [UInt8], candidates: Int = 0, step: Int = .max
    ) throws(JSONError) -> JSONFindings {
        var scanner = JSONScanner(Self.search(names, candidates: candidates), depthMax: 3)
        var start = 0
        while start < text.count {
            let end = start + min(step, text.count - start)
            scanner.feed(text.span.extracting(start..<end))
            start = end
        }
        return try scanner.finish()
    }

    private func find(
        _ text: String, _ names: [String] = ["a"], candidates: Int = 0
    ) throws(JSONError) -> JSONFindings {
        let whole = try find(names, in: Array(text.utf8), candidates: candidates)
        for step in 1...3 {
            let cut = try find(names, in: Array(text.utf8), candidates: candidates, step: step)
            #expect(cut == whole, "\(text) in pieces of \(step)")
        }
        return whole
    }

    private func string(_ text: String) -> JSONMember { .string(Array(text.utf8)) }
    private func number(_ text: String) throws -> JSONMember {
        .number(try #require(JSONNumber(text)))
    }

    @Test("finds strings of the outermost object by name, however the text is cut")
    func finds() throws {
        let text = #" {"b" : {"a":"no"},"a":"yes" , "c":["a",{"a":1}],"d":-1.5E+3,"e":null} "#
        #expect(
            try find(text, ["a", "b", "d", "z"]).members
                == [string("yes"), .other, number("-1500"), .absent])
        #expect(try find("{}").members == [.absent])
        #expect(try find(#"{"a":""}"#).members == [string("")])
        #expect(try find(#"{"aa":"x","":"y"}"#).members == [.absent])
        for value in ["true", "false", "null", "[]", "{}", "[[1]]"] {
            #expect(try find("{\"a\":\(value)}").members == [.other], "\(value)")
        }
        for value in ["0", "-0", "10.5", "1e5"] {
            #expect(try find("{\"a\":\(value)}").members == [number(value)], "\(value)")
        }
    }

    @Test("reads escapes and UTF-8 in names and strings")
    func escapes() throws {
        #expect(
            try find(#"{"\u0061":"\"\\\/\b\f\n\r\t"}"#).members == [string("\"\\/\u{8}\u{C}\n\r\t")]
        )
        #expect(try find(#"{"a":"\u00e9\uD83D\uDE00"}"#).members == [string("\u{E9}\u{1F600}")])
        #expect(try find(#"{"\u00E9":"€\#u{7F}"}"#, ["\u{E9}"]).members == [string("€\u{7F}")])
    }

    @Test("keeps a byte more than it may of a long string, and no more")
    func longStrings() throws {
        #expect(try find(#"{"a":"12345678"}"#).members == [string("12345678")])
        #expect(try find(#"{"a":"1234567890"}"#).members == [string("123456789")])
        #expect(try find(#"{"aaaaaaaaaaaaaaaaaaaaaaaa":"x"}"#).members == [.absent])
    }

    @Test("tells that a member it looks for comes twice, in whatever spelling")
    func repeated() throws {
        #expect(try find(#"{"a":"1","a":"1"}"#).members == [.repeated])
        #expect(try find(#"{"a":"1","\u0061":2}"#).members == [.repeated])
        #expect(try find(#"{"a":1,"a":2,"a":"3"}"#).members == [.repeated])
        #expect(try find(#"{"b":1,"b":2,"a":"3"}"#).members == [string("3")])
    }

    @Test("keeps the strings that are candidates, up to a bound, and says that there are more")
    func candidates() throws {
        let found = try find(
            #"{"a":"!1","b":"no","c":["!2"],"d":"!3","e":"!too long a one"}"#, candidates: 2)
        #expect(found.candidates == [Array("!1".utf8), Array("!3".utf8)])
        #expect(!found.hasMoreCandidates)
        let more = try find(#"{"a":"!1","a":"!2","c":"!3"}"#, candidates: 2)
        #expect(more.candidates.count == 2 && more.hasMoreCandidates)
        #expect(more.members == [.repeated])
    }

    @Test("tells why it refuses", arguments: refusals)
    func refuses(text: String, error: JSONError) throws {
        #expect(throws: error) { _ = try find(in: Array(text.utf8)) }
        #expect(throws: error) { _ = try find(in: Array(text.utf8), step: 1) }
    }

    static let refusals: [(String, JSONError)] = [
        ("", .truncated), (" ", .truncated), ("{", .truncated), (#"{"a":"b"#, .truncated),
        (#"{"a":1"#, .truncated), (#"{"a":tru"#, .truncated), (#"{"a":[1,"#, .truncated),
        ("[1]", .notAnObject), ("\"a\"", .notAnObject), ("null", .notAnObject),
        ("\u{FEFF}{}", .notAnObject),
        (#"{"a":"\u0000"}"#, .nulCharacter(offset: 11)),
        (#"{"\u0000":"a"}"#, .nulCharacter(offset: 7)),
        (#"{"b":[{"c":"\u0000"}]}"#, .nulCharacter(offset: 17)),
        (#"{"a":"1"} x"#, .trailingBytes(offset: 10)),
        (#"{"a":"1"}{}"#, .trailingBytes(offset: 9)),
        (#"{"a":"1",}"#, .malformed(offset: 9)), (#"{,}"#, .malformed(offset: 1)),
        (#"{a:"1"}"#, .malformed(offset: 1)), (#"{'a':"1"}"#, .malformed(offset: 1)),
        (#"{"a" 1}"#, .malformed(offset: 5)), (#"{"a":}"#, .malformed(offset: 5)),
        (#"{"a":[1,]}"#, .malformed(offset: 8)), (#"{"a":[1}"#, .malformed(offset: 7)),
        (#"{"a":1]"#, .malformed(offset: 6)), (#"{"a":01}"#, .malformed(offset: 6)),
        (#"{"a":-}"#, .malformed(offset: 6)), (#"{"a":1.}"#, .malformed(offset: 7)),
        (#"{"a":1e+}"#, .malformed(offset: 8)), (#"{"a":+1}"#, .malformed(offset: 5)),
        (#"{"a":.5}"#, .malformed(offset: 5)), (#"{"a":NaN}"#, .malformed(offset: 5)),
        (#"{"a":truth}"#, .malformed(offset: 8)), (#"{"a":nulls}"#, .malformed(offset: 9)),
        (#"{"a":"\ud800"}"#, .malformed(offset: 12)),
        (#"{"a":"\ud800\n"}"#, .malformed(offset: 13)),
        (#"{"a":"\ud800\ud800"}"#, .malformed(offset: 17)),
        (#"{"a":"\udc00"}"#, .malformed(offset: 11)),
        (#"{"a":"\x41"}"#, .malformed(offset: 7)), (#"{"a":"\u00g0"}"#, .malformed(offset: 10)),
        ("{\"a\":\"\n\"}", .malformed(offset: 6)),
        (#"{"a":[[[]]]}"#, .tooDeep(depthMax: 3)),
    ]

    @Test("takes brackets inside strings for what they are, and no number for its size")
    func leniency() throws {
        #expect(try find(#"{"b":"[[[[{{{{\"[[\\","a":"x"}"#).members == [string("x")])
        let digits = String(repeating: "9", count: 400)
        #expect(try find(#"{"b":\#(digits),"c":1e999,"a":"x"}"#).members == [string("x")])
    }

    @Test("refuses bytes that are not UTF-8, in strings that it skips too")
    func notUTF8() {
        let bad: [[UInt8]] = [
            [0xFF], [0xC0, 0x80], [0xE0, 0x9F, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC3], [0x80], [0xE2, 0x82],
        ]
        for bytes in bad {
            let text = Array(#"{"b":""#.utf8) + bytes + Array(#""}"#.utf8)
            #expect(throws: JSONError.self) { _ = try find(in: text) }
            #expect(throws: JSONError.self) { _ = try find(in: text, step: 1) }
        }
    }

    @Test("agrees with the parser on every single-byte change of a real text")
    func mutations() {
        let text = Array(#"{"a":"A\u00e9","b":{"c":[1,-2.5e3,true,null]},"d":"é"}"#.utf8)
        var accepted = 0
        for index in text.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = text
                changed[index] = byte
                let found = try? find(in: changed).members
                do throws(JSONError) {
                    let reader = try JSONObjectReader(
                        parsing: changed.span, byteCountMax: 100, depthMax: 3)
                    let member = reader.string("a").map { JSONMember.string($0) }
                    if member == nil, reader.has("a"), case .number? = found?.first {
                        // The reader does not tell numbers from other values.
                    } else {
                        let expected = member ?? (reader.has("a") ? .other : .absent)
                        #expect(found == [expected], "\(index) \(byte)")
                    }
                    accepted += 1
                } catch {
                    switch error {
                    case .duplicateMember, .numberOutOfRange: break
                    default: #expect(found == nil, "\(index) \(byte)")
                    }
                }
            }
        }
        #expect(accepted > 0)
    }
}
