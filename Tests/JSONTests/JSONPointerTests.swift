import JSON
import Testing

@Suite("JSONPointer")
struct JSONPointerTests {}

extension JSONPointerTests {
    private func find(
        _ text: String, _ pointers: [String], isSpellingStrict: Bool = false, step: Int = .max
    ) throws -> [JSONMember] {
        var search = JSONScanner.Search(
            pointers: try pointers.map { try #require(JSONPointer($0)) }, stringByteCountMax: 8)
        search.isSpellingStrict = isSpellingStrict
        var scanner = JSONScanner(search)
        let bytes = Array(text.utf8)
        var start = 0
        while start < bytes.count {
            let end = start + min(step, bytes.count - start)
            scanner.feed(bytes.span.extracting(start..<end))
            start = end
        }
        let members = try scanner.finish().members
        if step > 1 {
            let cut = try find(text, pointers, isSpellingStrict: isSpellingStrict, step: 1)
            #expect(cut == members, "\(text) byte by byte")
        }
        return members
    }

    private func string(_ text: String) -> JSONMember { .string(Array(text.utf8)) }
    private func number(_ text: String) throws -> JSONMember {
        .number(try #require(JSONNumber(text)))
    }

    @Test("is written as it was read")
    func texts() {
        for text in ["", "/", "/a", "/a/b", "/a~1b/~0", "/~01", "//", "/0/-", "/é €"] {
            #expect(JSONPointer(text)?.description == text)
        }
        #expect(JSONPointer("")?.tokenCount == 0)
        #expect(JSONPointer("/a/0")?.tokenCount == 2)
        #expect(JSONPointer("/a~1b") == JSONPointer(name: Array("a/b".utf8)))
        #expect(JSONPointer("/a~01") == JSONPointer(name: Array("a~1".utf8)))
        for text in ["a", "a/b", "#/a", "/~", "/a~", "/~2", "/a~/b", " /a"] {
            #expect(JSONPointer(text) == nil, "\(text)")
        }
    }

    @Test("leads through objects and arrays, however the text is cut")
    func finds() throws {
        let text = #"""
            {"a": {"x": {"b": 1}, "b": "in", "c": [0, [1, "deep"], {"b": -2.50}]},
             "b": "out", "m/n": {"~": 7}, "": {"": true}, "list": {"0": "name"}, "z": [[], {}]}
            """#
        #expect(
            try find(text, ["/a/b", "/b", "/a/c/0", "/a/c/1/1", "/a/c/2/b", "/a/x/b"])
                == [
                    string("in"), string("out"), number("0"), string("deep"), number("-2.5"),
                    number("1"),
                ])
        #expect(
            try find(text, ["/m~1n/~0", "//", "/list/0", "/z/0", "/z/1", "", "/a", "/a/c"])
                == [
                    number("7"), .other, string("name"), .other, .other, .other, .other, .other,
                ])
        let absent = ["/x", "/a/c/3", "/a/c/-", "/a/c/00", "/a/c/1/1/0", "/b/c", "/z/0/0", "/z/2"]
        #expect(try find(text, absent).allSatisfy { $0 == .absent })
        #expect(try find(#"{"\u0061":{"\u0062":"x"}}"#, ["/a/b"]) == [string("x")])
    }

    @Test("leads to no member that comes twice, nor to any inside one that does")
    func repeated() throws {
        for text in [
            #"{"a":{"b":1,"b":2}}"#, #"{"a":{"b":1},"a":{"b":2}}"#, #"{"a":{"b":1},"a":5}"#,
            #"{"a":5,"a":{"b":1}}"#, #"{"a":5,"\u0061":null}"#, #"{"a":{"b":1},"a":{"b":2},"a":3}"#,
        ] {
            #expect(try find(text, ["/a/b"]) == [.repeated], "\(text)")
        }
        #expect(try find(#"{"a":[1],"a":[1]}"#, ["/a/0", "/a/1"]) == [.repeated, .repeated])
        // The same name elsewhere is another member.
        #expect(try find(#"{"a":[{"b":1},{"b":2}],"b":3}"#, ["/a/1/b"]) == [number("2")])
        #expect(try find(#"{"c":{"b":0},"a":{"b":1},"d":{"b":2}}"#, ["/a/b"]) == [number("1")])
    }

    @Test("finds other spellings of a name if that is asked for")
    func spellings() throws {
        let names = [
            "Max_tokens", "MAX_TOKENS", "maxTokens", "max-tokens", "_max_tokens_",
            "max_to\u{212A}ens",
            #"\u004Dax_tokens"#, "max_token\u{17F}",
        ]
        for name in names {
            let text = "{\"\(name)\": 1}"
            #expect(try find(text, ["/max_tokens"]) == [.absent], "\(name)")
            #expect(
                try find(text, ["/max_tokens"], isSpellingStrict: true) == [.repeated], "\(name)")
            #expect(
                try find(
                    "{\"max_tokens\": 1, \"\(name)\": 2}", ["/max_tokens"], isSpellingStrict: true)
                    == [.repeated])
            #expect(
                try find(
                    "{\"\(name)\": {\"b\": 1}}", ["/max_tokens/b"], isSpellingStrict: true)
                    == [.repeated])
        }
        for name in ["max_token", "max_tokensx", "ax_tokens", "", "max.tokens", "max tokens"] {
            #expect(
                try find("{\"\(name)\": 1}", ["/max_tokens"], isSpellingStrict: true) == [.absent],
                "\(name)")
        }
        #expect(
            try find(
                #"{"max_tokens": 1, "x": {"maxTokens": 2}}"#, ["/max_tokens"],
                isSpellingStrict: true) == [number("1")])
    }

    @Test("leads to numbers whose text is short, and tells longer ones apart from none")
    func numbers() throws {
        let longest = String(repeating: "9", count: 32)
        #expect(try find("{\"a\":\(longest)}", ["/a"]) == [number(longest)])
        for text in [longest + "9", "0." + longest, "1e9999999", "true"] {
            #expect(try find("{\"a\":\(text)}", ["/a"]) == [.other], "\(text)")
        }
        #expect(try find("{\"a\":[\(longest)9,1]}", ["/a/1"]) == [number("1")])
    }

    @Test("leads as deep as a text may be")
    func deep() throws {
        let depth = JSONScanner.depthLimit
        let pointer = try #require(JSONPointer(String(repeating: "/a", count: depth)))
        let search = JSONScanner.Search(pointers: [pointer], stringByteCountMax: 8)
        var scanner = JSONScanner(search, depthMax: depth)
        scanner.feed(Array(String(repeating: #"{"a":"#, count: depth).utf8).span)
        scanner.feed(Array("1".utf8).span)
        scanner.feed(Array(String(repeating: "}", count: depth).utf8).span)
        #expect(try scanner.finish().members == [number("1")])
        var deeper = JSONScanner(search, depthMax: depth + 1)
        deeper.feed(Array(String(repeating: #"{"a":"#, count: depth + 1).utf8).span)
        #expect(throws: JSONError.tooDeep(depthMax: depth)) { _ = try deeper.finish() }
    }
}
