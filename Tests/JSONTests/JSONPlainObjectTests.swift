import JSON
import Testing

@Suite("JSONPlainObject")
struct JSONPlainObjectTests {}

extension JSONPlainObjectTests {
    /// Names and values without their escapes; nil where the text is left to the other reader.
    private static func members(_ text: [UInt8]) -> [[UInt8]: [UInt8]]? {
        guard let object = JSONPlainObject(text.span) else { return nil }
        var members: [[UInt8]: [UInt8]] = [:]
        for index in 0..<object.count {
            let member = object[index]
            let value = text[member.value]
            #expect(member.hasEscapes == value.contains(0x5C))
            members[Array(text[member.name])] = value.filter { $0 != 0x5C }
        }
        #expect(members.count == object.count)
        return members
    }

    private static func members(_ text: String) -> [String: String]? {
        members(Array(text.utf8)).map { members in
            Dictionary(
                uniqueKeysWithValues: members.map {
                    (String(decoding: $0, as: UTF8.self), String(decoding: $1, as: UTF8.self))
                })
        }
    }

    @Test("finds the members of objects of strings")
    func found() {
        #expect(Self.members("{}") == [:])
        #expect(Self.members(#"{"a":"b"}"#) == ["a": "b"])
        #expect(Self.members(" { \"a\" :\t\"\" ,\r\n\"\":\"c d\" } ") == ["a": "", "": "c d"])
        #expect(Self.members(#"{"path":"\/a\/b","x":"/"}"#) == ["path": "/a/b", "x": "/"])
        let most = (0..<JSONPlainObject.memberCountMax).map { #""\#($0)":"v""# }
        #expect(Self.members("{\(most.joined(separator: ","))}")?.count == most.count)
        #expect(Self.members(#"{\#(most.joined(separator: ",")),"more":"v"}"#) == nil)
    }

    @Test(
        "leaves everything else alone",
        arguments: [
            "", " ", "{", "}", "[]", #""a""#, #"{"a"}"#, #"{"a":}"#, #"{"a":"b""#, #"{"a":"b"#,
            #"{"a":"b"}x"#, #"{"a":"b",}"#, #"{,"a":"b"}"#, #"{"a":"b""c":"d"}"#, #"{"a" "b"}"#,
            #"{"a":1}"#, #"{"a":null}"#, #"{"a":{}}"#, #"{"a":["b"]}"#, #"{a:"b"}"#,
            #"{"a":"b","a":"c"}"#, #"{"\/":"b"}"#, #"{"a":"\n"}"#, #"{"a":"\u0041"}"#,
            #"{"a":"\\"}"#, #"{"a":"\""}"#, #"{"a":"\"#, "{\"a\":\"\u{0}\"}", "{\"a\":\"\n\"}",
            #"{"a":"ü"}"#, #"{"ü":"a"}"#, "\u{FEFF}{}", #"{"a":'b'}"#,
        ])
    func left(text: String) { #expect(Self.members(text) == nil) }

    @Test("takes nothing that the strict reader refuses, and finds the same in it")
    func agreement() throws {
        let seed = Array(#"{"challenge":"AA-_","path":"\/a b","query":"x=1", "keyId":"+\/="}"#.utf8)
        let odd = Array(#"{}[]",:\/ ab0u"#.utf8) + [0x00, 0x0A, 0x1F, 0x7F, 0x80, 0xC3, 0xFF]
        var numbers = SplitMix64(state: 0x15)
        var takenCount = 0
        for _ in 0..<20_000 {
            var text = seed
            for _ in 0..<Int.random(in: 0...3, using: &numbers) {
                let place = Int.random(in: 0..<text.count, using: &numbers)
                let byte = odd[Int.random(in: 0..<odd.count, using: &numbers)]
                switch Int.random(in: 0..<3, using: &numbers) {
                case 0: text[place] = byte
                case 1: text.insert(byte, at: place)
                default: text.remove(at: place)
                }
            }
            guard let members = Self.members(text) else { continue }
            takenCount += 1
            let reader = try JSONObjectReader(parsing: text.span, byteCountMax: 1024, depthMax: 1)
            #expect(reader.memberCount == members.count, "\(text)")
            for (name, value) in members {
                let name = String(decoding: name, as: UTF8.self)
                #expect(reader.string(named: name) == value, "\(text)")
            }
        }
        #expect(takenCount > 1000)
    }
}

private struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
