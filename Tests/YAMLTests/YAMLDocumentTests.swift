import Testing
import YAML

@Suite("YAMLDocument")
struct YAMLDocumentTests {}

extension YAMLDocumentTests {
    @Test("keeps texts, order and places")
    func tree() throws {
        let node = try YAMLDocument.parse(
            """
            # comment
            a: off
            "b": [ '1', 2 ]
            ü: {x: y}
            """)
        #expect(node.mark == YAMLMark(line: 2, column: 1))
        guard case .mapping(let entries) = node.kind else {
            Issue.record("not a mapping")
            return
        }
        #expect(entries.map(\.key) == ["a", "b", "ü"])
        #expect(entries[0].value.kind == .scalar("off", isPlain: true))
        #expect(entries[0].value.mark == YAMLMark(line: 2, column: 4))
        guard case .sequence(let elements) = entries[1].value.kind else {
            Issue.record("not a list")
            return
        }
        #expect(elements[0].kind == .scalar("1", isPlain: false))
        #expect(elements[1].mark == YAMLMark(line: 3, column: 13))
        // Columns count characters, not bytes.
        #expect(entries[2].value.mark == YAMLMark(line: 4, column: 4))
    }

    @Test("keeps both of two equal keys")
    func duplicates() throws {
        guard case .mapping(let entries) = try YAMLDocument.parse("a: 1\na: 2\n").kind else {
            Issue.record("not a mapping")
            return
        }
        #expect(entries.map(\.keyMark.line) == [1, 2])
    }

    @Test("takes document marks, a byte order mark, literal and folded texts")
    func accepts() throws {
        #expect(
            try YAMLDocument.parse("\u{FEFF}--- |\n  a\n  b\n...\n").kind
                == .scalar("a\nb\n", isPlain: false))
        #expect(try YAMLDocument.parse(">-\n  a\n  b\n").kind == .scalar("a b", isPlain: false))
        #expect(try YAMLDocument.parse("a:\n").kind.isMappingOfNothing)
    }

    @Test("tells what it does not take, and where", arguments: refusals)
    func refuses(text: String, message: String) {
        do {
            let node = try YAMLDocument.parse(text)
            Issue.record("accepted: \(node)")
        } catch {
            #expect(error.description == message)
        }
    }

    static let refusals: [(String, String)] = [
        ("", "1:1: the document is empty"),
        ("# only a comment\n", "2:1: the document is empty"),
        ("a: 1\n---\nb: 2\n", "2:1: a second document: the file must hold one"),
        ("a: &x 1\n", "1:4: anchors (&name) are not supported"),
        ("a: &x [1]\n", "1:4: anchors (&name) are not supported"),
        ("a: *x\n", "1:4: aliases (*name) are not supported; quote a text that begins with *"),
        ("a: !!str 1\n", "1:4: tags (!name) are not supported; quote a text that begins with !"),
        ("a: !x {b: 1}\n", "1:4: tags (!name) are not supported; quote a text that begins with !"),
        ("%YAML 1.1\n---\na: 1\n", "1:1: directives (%NAME) are not supported"),
        ("a: 1\n<<: {b: 1}\n", "2:1: merge keys (<<) are not supported"),
        ("? [a]\n: 1\n", "1:3: a key must be a text, not a list or a mapping"),
        ("{a: 1}: 2\n", "1:1: a key must be a text, not a list or a mapping"),
        ("a:\n\tb: 1\n", "2:1: a tab cannot indent YAML; use spaces"),
        ("a: b: c\n", "1:5: YAML syntax: mapping values are not allowed in this context"),
        ("a: \"\\0\"\n", "1:4: not UTF-8, or a control character"),
        ("a: \u{1}\n", "1:4: not UTF-8, or a control character"),
        ("a: 1\nü: \u{7}\n", "2:4: not UTF-8, or a control character"),
        (
            "a: [1\nb: 2\n",
            "2:2: YAML syntax: did not find expected ',' or ']' while parsing a flow sequence"
        ),
    ]

    @Test("refuses other encodings")
    func encodings() {
        for bytes: [UInt8] in [
            [0xFF, 0xFE, 0x61, 0x00], [0x61, 0xFF], [0x61, 0xC0, 0x80], [0xE2],
        ] {
            #expect(throws: YAMLError.self) { _ = try YAMLDocument.parse(bytes.span) }
        }
    }

    @Test("bounds size and depth")
    func bounds() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try YAMLDocument.parse(nested(32))
        for depth in [34, 1000, 100_000] {
            do {
                _ = try YAMLDocument.parse(nested(depth))
                Issue.record("accepted depth \(depth)")
            } catch {
                #expect(error.reason == .tooDeep(depthMax: 32))
            }
        }
        do {
            _ = try YAMLDocument.parse([UInt8](repeating: 0x20, count: 11).span, byteCountMax: 10)
            Issue.record("accepted")
        } catch {
            #expect(error.reason == .tooLarge(byteCountMax: 10))
        }
    }

    @Test("survives every single-byte change")
    func mutations() {
        let text = Array("a: [1, 'x', \"\\u00e9\"]\nb:\n  - {c: d}\n  - |\n    text\n".utf8)
        var refusedCount = 0
        for index in text.indices {
            for byte in stride(from: 0, through: UInt8.max, by: 3) {
                var changed = text
                changed[index] = byte
                do { _ = try YAMLDocument.parse(changed.span) } catch { refusedCount += 1 }
            }
        }
        #expect(refusedCount > 0)
    }
}

extension YAMLNode.Kind {
    fileprivate var isMappingOfNothing: Bool {
        guard case .mapping(let entries) = self, entries.count == 1 else { return false }
        return entries[0].value.kind == .scalar("", isPlain: true)
    }
}
