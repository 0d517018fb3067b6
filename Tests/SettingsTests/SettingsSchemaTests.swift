import JSON
import Settings
import Testing
import YAML

@Suite("What is made from the declarations of settings")
struct SettingsSchemaTests {
    private static let schema: JSONValue = {
        let text = Array(SettingsSchema.text.utf8)
        let parsed = try? JSONValue.parse(text.span, byteCountMax: 1 << 24, depthMax: 64)
        return parsed ?? .null
    }()
    private let validator = SchemaValidator(Self.schema)
}

extension SettingsSchemaTests {
    private func faults(_ text: String) throws -> [String] {
        validator.faults(try YAMLDocument.parse(Array(text.utf8).span))
    }

    @Test("conf/sallyport.schema.json is the schema that the program prints")
    func schemaFile() throws {
        #expect(
            try Configuration.file("conf/sallyport.schema.json") == SettingsSchema.text,
            "out of date: sallyport schema > conf/sallyport.schema.json")
    }

    @Test("docs/settings.md is the page that the program prints")
    func page() throws {
        #expect(
            try Configuration.file("docs/settings.md") == SettingsReference.text,
            "out of date: sallyport schema --reference > docs/settings.md")
    }

    @Test("conf/sallyport.yaml is the example that the program prints")
    func exampleFile() throws {
        #expect(
            try Configuration.file("conf/sallyport.yaml") == SettingsExample.text,
            "out of date: sallyport schema --example > conf/sallyport.yaml")
    }

    @Test("what conf/sallyport.yaml has as comments fits the schema, too")
    func comments() throws {
        // The rules of the file come first.
        let rule = try #require(SettingsExample.text.firstRange(of: "# ---"))
        let lines = SettingsExample.text[rule.lowerBound...].split(separator: "\n")
        let on = lines.map(Self.withoutHash)
        #expect(zip(lines, on).count { $0 != $1 } > 300)
        #expect(try faults(on.joined(separator: "\n")) == [])
    }

    /// A line that is on, after any number of `#` with three spaces.
    private static func withoutHash(_ line: Substring) -> String {
        let space = line.prefix { $0 == " " }
        let rest = line.dropFirst(space.count)
        return rest.hasPrefix("#   ")
            ? withoutHash(Substring(space + rest.dropFirst(4))) : String(line)
    }

    @Test("every value of the example is one of a key that is declared")
    func examples() throws {
        let page = SettingsReference.text
        #expect(SettingsExample.examplePaths.count > 100)
        for path in SettingsExample.examplePaths {
            #expect(page.contains("\n- `\(path)`"), "\(path)")
        }
    }

    @Test("the schema takes the shipped configurations", arguments: Configuration.shipped)
    func shipped(path: String) throws {
        #expect(try faults(Configuration.file(path)) == [])
    }

    @Test("the schema takes every key, substitutions, and the configurations of README.md")
    func accepted() throws {
        #expect(try faults(Configuration.everyKey) == [])
        #expect(try faults(Self.otherKeys) == [])
        let substituted = """
            limits: { fields: "${FIELDS:-20}", head: "${HEAD}", connections_per_address: '7' }
            receipts: { renew: "${RENEW}", rate: "${RATE:-1/s}" }
            """
        #expect(try faults(Configuration.completed(substituted)) == [])
        let readme = Self.configurations(try Configuration.file("README.md"))
        #expect(!readme.isEmpty)
        for text in readme { #expect(try faults(text) == []) }
    }

    /// The blocks of code, indented or fenced, that are whole configurations.
    private static func configurations(_ document: String) -> [String] {
        var blocks = [""]
        var isFenced = false
        for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
            let isFence = line.hasPrefix("```")
            if isFence { isFenced.toggle() }
            if !isFence, isFenced || line.hasPrefix("    ") || line.isEmpty {
                blocks[blocks.count - 1] += (isFenced ? line : line.dropFirst(4)) + "\n"
            } else {
                blocks.append("")
            }
        }
        return blocks.filter { $0.contains(/(?m)^listeners:/) && $0.contains(/(?m)^routes:/) }
    }

    @Test("conf/sallyport.yaml names every key of the schema, and shows its defaults")
    func commented() throws {
        let text = try Configuration.file("conf/sallyport.yaml")
        for key in keys(Self.schema) { #expect(text.contains("\(key):"), "\(key)") }
        var shownCount = 0
        let node = try YAMLDocument.parse(Array(text.utf8).span)
        #expect(otherDefaults(node, Self.schema, "", &shownCount) == [])
        #expect(shownCount > 100)
    }

    /// The names of all properties below `schema`.
    private func keys(_ schema: JSONValue) -> Set<String> {
        switch schema {
        case .object(let members):
            var found = members.values.reduce(into: Set()) { $0.formUnion(keys($1)) }
            if case .object(let properties)? = members["properties"] {
                found.formUnion(properties.keys)
            }
            return found
        case .array(let elements): return elements.reduce(into: []) { $0.formUnion(keys($1)) }
        default: return []
        }
    }

    /// The paths at which `node` has another value than the default.
    private func otherDefaults(
        _ node: YAMLNode, _ schema: JSONValue, _ path: String, _ shownCount: inout Int
    ) -> [String] {
        switch node.kind {
        case .scalar(let text, _):
            guard let standard = schema["default"] else { return [] }
            shownCount += 1
            return [.string(text), Int64(text).map(JSONValue.integer), .bool(text == "true")]
                .contains(standard) ? [] : [path]
        case .sequence(let elements):
            let items = validator.below(node, nil, schema) ?? .null
            return elements.flatMap { otherDefaults($0, items, path + "[]", &shownCount) }
        case .mapping(let entries):
            return entries.flatMap { entry in
                let below = validator.below(node, entry.key, schema) ?? .null
                return otherDefaults(entry.value, below, "\(path).\(entry.key)", &shownCount)
            }
        }
    }

    @Test(
        "the schema refuses what is no configuration",
        arguments: [
            "limits: { fields: 9 }", "limits: { fields: ten }", "limits: { head: 32 }",
            "limits: { haed: 32KiB }", "receipts: { renew: yes }", "timeouts: { idle: 75 s }",
            "listeners: [{ allow: [] }]", "listeners: {}", "routes: [{ name: a, path: /a }]",
            "rate_limits: { a: { by: address, rate: often } }", "workers: many", "trust: on",
            "log: { keys: hash }", "counters: { redis: {}, pool: 1 }", "forwarded: ''",
        ])
    func refused(text: String) throws {
        #expect(try faults(Configuration.completed(text)) != [])
    }

    /// The reader names the keys that it knows where it meets one that it does not.
    @Test("the schema has the keys that the reader knows, and no other")
    func sameKeys() throws {
        var sections: [String: Set<String>] = [:]
        var known: [String: Set<String>] = [:]
        for text in [Configuration.everyKey, Self.otherKeys] {
            let node = try YAMLDocument.parse(Array(text.utf8).span)
            let changed = withUnknownKeys(node, Self.schema, "", &sections)
            guard
                case .failure(let found) = Configuration().loader.load(text: changed, fileName: "f")
            else { continue }
            for problem in found.problems {
                let pattern = /unknown key "zzqqxxww"(?: in (.*))?; known: (.*)/
                guard let match = problem.message.firstMatch(of: pattern) else { continue }
                let keys = match.output.2.split(separator: ", ").map(String.init)
                known[match.output.1.map(String.init) ?? ""] = Set(keys)
            }
        }
        #expect(sections.count > 60)
        for (path, keys) in sections {
            #expect(known[path] == keys, "\(path)")
        }
    }

    /// As JSON, which is YAML on one line, with a key that nobody knows in every section.
    private func withUnknownKeys(
        _ node: YAMLNode, _ schema: JSONValue, _ path: String,
        _ sections: inout [String: Set<String>]
    ) -> String {
        switch node.kind {
        case .scalar(let text, _):
            return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        case .sequence(let elements):
            let items = validator.below(node, nil, schema) ?? .null
            let texts = elements.enumerated().map {
                withUnknownKeys($1, items, "\(path)[\($0)]", &sections)
            }
            return "[\(texts.joined(separator: ", "))]"
        case .mapping(let entries):
            var texts = entries.map { entry in
                let below = validator.below(node, entry.key, schema) ?? .null
                let path = path.isEmpty ? entry.key : "\(path).\(entry.key)"
                return "\"\(entry.key)\": " + withUnknownKeys(entry.value, below, path, &sections)
            }
            if case .object(let properties)? = validator.section(node, schema)?["properties"] {
                sections[path] = Set(properties.keys)
                texts.append("zzqqxxww: 1")
            }
            return "{\(texts.joined(separator: ", "))}"
        }
    }

    /// Sections that ``Configuration/everyKey`` has in another form.
    private static let otherKeys = """
        listeners:
          - bind: 127.0.0.1:1
            tls:
              certificate: /a.crt
              key: /a.key
              certificates: [{ certificate: /b.crt, key: /b.key, ocsp: /b.ocsp }]
              session_tickets: { lifetime: 1h, keys: [/ticket] }
              client_certificates: { mode: request, ca: /ca.pem, crl: /crl.pem, depth: 3 }
        registry: { postgres: "postgresql://h/d", schema: s }
        counters:
          redis:
            sentinel:
              addresses: [h:1]
              master: main
              username: u
              password: p
              tls: { verify: off }
        endpoints: { attest_rollout: { share: 3%, retry_after: 1s } }
        upstreams:
          a: { servers: ['h:1'], tls: { certificate: /a.crt, key: /a.key, session_reuse: off } }
        routes:
          - name: a
            path: /a
            upstream: a
            limits: { body: 1KiB }
            attest: { mode: enforce, rollout: { start: 1%, guard: {} }, replay: { window: 2 } }
        """
}
