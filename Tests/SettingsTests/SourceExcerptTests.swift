import Settings
import Testing

@Suite("Excerpts below errors")
struct SourceExcerptTests {}

extension SourceExcerptTests {
    /// What is shown below each error of `text`.
    private func excerpts(_ text: String) -> [String?] {
        switch Configuration().load(text) {
        case .success: []
        case .failure(let problems): problems.problems.map(\.excerpt)
        }
    }

    @Test("show the line, and a caret below the place")
    func caret() throws {
        let text = "listeners:\n  - bind: 19600\nadmin: { bund: a:1 }"
        let found = excerpts(text).compactMap(\.self)
        #expect(
            found == [
                "  2 |   - bind: 19600\n    |           ^",
                "  3 | admin: { bund: a:1 }\n    |        ^",
                "  3 | admin: { bund: a:1 }\n    |          ^",
            ])
        let problem = try #require(Configuration().load(text).failure?.problems.first)
        #expect(problem.illustrated == problem.description + "\n" + found[0])
    }

    @Test("show where YAML ends, and count columns as the place does")
    func syntax() {
        let place = "  2 | apps: [{ id: ABCDE12345.com.example.app }]\n    |     ^"
        #expect(excerpts("workers: [1") == [place])
        #expect(
            excerpts("log: { access: \"é😀\", keys: x }").first
                == "  1 | log: { access: \"é😀\", keys: x }\n    |                ^")
    }

    @Test("cut a long line to what is around the place, and keep control characters out")
    func long() throws {
        let space = String(repeating: " ", count: 300)
        let found = try #require(
            excerpts("workers:\u{20}\(space)nonsense  # \(space)x").first ?? nil)
        let lines = found.split(separator: "\n")
        #expect(lines.count == 2 && lines.allSatisfy { $0.count < 110 })
        let caret = try #require(lines[1].firstIndex(of: "^"))
        let column = lines[1].distance(from: lines[1].startIndex, to: caret)
        #expect(lines[0].dropFirst(column).hasPrefix("nonsense"))
        for scalar in ["\u{7F}", "\u{1B}", "\u{85}"] {
            for excerpt in excerpts("workers: \"x\(scalar)y\"") {
                #expect(excerpt?.unicodeScalars.contains { $0.value == 0x1B } != true)
            }
        }
    }

    @Test(
        "never show a password, nor a line that may go on with one",
        arguments: [
            "counters: { redis: { address: nonsense, password: hunter2 } }",
            "counters:\n  redis: redis://user:hunter2/x@host:0/0",
            "counters: { redis: \"redis://user:hun}ter2,hunter2@host:0/0\" }",
            "registry: { postgres: \"postgresql://u:hunter2@h/d?nonsense=1\" }",
            "counters:\n  redis:\n    password: |\n      hunter2\n     hunter2: x",
            "counters:\n  redis:\n    password:\n      [hunter2]",
            "counters:\n  redis:\n    password: \"x\n      hunter2\\q\"",
            "counters:\n  redis:\n    password:\n    hunter2",
            "counters:\n  redis: redis://:hunter2host:x/0",
            "registry: { postgres: \"postgresql://h/d?password=hunter2&nonsense=1\" }",
            "routes:\n  - request_headers: { set: { Authorization: hunter2, x y: z } }",
            "routes:\n  - request_headers: { set: { X-Api-Key: hunter2, x y: z } }",
        ])
    func secrets(text: String) {
        let found = excerpts(text)
        #expect(!found.isEmpty)
        for excerpt in found { #expect(excerpt?.contains("hunter2") != true, "\(excerpt ?? "")") }
    }

    @Test("are none for what is in no line, and of many errors the first have them")
    func bounds() throws {
        let missing = Configuration().loader.load(path: "/none.yaml").failure?.problems
        #expect(missing?.map(\.excerpt) == [nil])
        let many = "admin:\n" + (0..<200).map { "  x\($0): 1\n" }.joined()
        let found = excerpts(many)
        #expect(found.count > 200)
        #expect(found.count { $0 != nil } == 50)
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}
