import JSON
import YAML

extension Operation {
    /// What jansson and libyaml read. jansson has no allocation that may fail: it has one of ours,
    /// which ends the process.
    static func documents() throws -> [Operation] {
        let text = Array(
            #"""
            {"name": "a \"text\" with \u00e9 and a \n line", "integer": -12, "number": 1.5e3,
             "flags": [true, false, null], "empty": {}, "nested": {"a": [1, [2, [3]]], "b": ""},
             "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
            """#.utf8)
        let value = try JSONValue.parse(text.span, byteCountMax: 4096)
        return [
            Operation("JSON: read", of: .jansson) {
                .same(as: value) { try JSONValue.parse(text.span, byteCountMax: 4096) }
            },
            Operation("JSON: members read", of: .jansson) {
                .same(as: "a \"text\" with é and a \n line, -12, 13, false") {
                    let reader = try JSONObjectReader(parsing: text.span, byteCountMax: 4096)
                    let name = String(decoding: reader.string("name") ?? [], as: UTF8.self)
                    return
                        "\(name), \(reader.integer("integer") ?? 0), \(reader.memberCount), "
                        + "\(reader.has("eight"))"
                }
            },
            unreadable("JSON: a member twice", #"{"a": 1, "b": "c", "a": 1}"#),
            unreadable("JSON: text behind the value", #"{"a": [1, 2]} {"#),
            unreadable("JSON: cut off", #"{"a": [1, 2, "three", 4"#),
            unreadable("JSON: a NUL", #"{"a": "b\u0000"}"#),
        ] + (try configurations())
    }

    private static func unreadable(_ name: String, _ text: String) -> Operation {
        let bytes = Array(text.utf8)
        return Operation(name, of: .jansson) {
            .bad { try JSONValue.parse(bytes.span, byteCountMax: 4096) != .null }
        }
    }

    private static func configurations() throws -> [Operation] {
        let text = """
            # A comment
            listeners:
              - bind: 127.0.0.1:8080
                limits: { head: 64KiB, "bodies": '1MiB' }
            routes:
              - name: a longer text, in the middle of which
                  a line ends
                path: "/\\u00e9\\t*"
              - name: |
                  a block
                  of lines
            """
        let node = try YAMLDocument.parse(text)
        func unreadable(_ name: String, _ text: String) -> Operation {
            Operation(name, of: .libyaml) {
                .bad { try YAMLDocument.parse(text).mark.line > 0 }
            }
        }
        return [
            Operation("YAML: read", of: .libyaml) {
                .same(as: node) { try YAMLDocument.parse(text) }
            },
            unreadable("YAML: an alias", "a: &x [1, 2]\nb: *x\n"),
            unreadable("YAML: a tag", "a: b\nc: !!str d\n"),
            unreadable("YAML: a second document", "a: b\n---\nc: d\n"),
            unreadable("YAML: a list that does not end", "a: b\nc: [d, e\n"),
        ]
    }
}
