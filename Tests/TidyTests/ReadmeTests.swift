import Testing

@Suite("What documents say")
struct ReadmeTests {}

extension ReadmeTests {
    private static func required(_ path: String) throws -> SourceFile {
        try #require(SourceTree.read(path), "\(path) is missing")
    }

    // MARK: configuration

    @Test("README's smallest configuration is conf/examples/minimal.yaml")
    func smallestConfiguration() throws {
        let readme = try Self.required("README.md")
        let example = try Self.required("conf/examples/minimal.yaml")
        let section = readme.lines.drop { $0 != "## The smallest configuration" }.dropFirst()
        let block = section.drop { !$0.hasPrefix("    ") }.prefix { $0.hasPrefix("    ") }
        let shown = block.map { $0.dropFirst(4) }
        let meant = example.lines.filter { !$0.drop { $0 == " " }.hasPrefix("#") && !$0.isEmpty }
        #expect(shown == meant)
    }

    @Test("README shows the rows that the demo prints")
    func demo() throws {
        let readme = try Self.required("README.md")
        let acts = readme.lines.split { !$0.hasPrefix("|") }
            .filter { $0.first?.hasPrefix("| what was sent |") == true }
        #expect(acts.count == 4)
        let table = acts.flatMap { $0.dropFirst(2) }
        let program = SourceTree.swiftFiles.filter { $0.path.contains("sallyport-lab/Demo/") }
            .map(\.text).joined()
        #expect(!table.isEmpty && !program.isEmpty)
        for row in table {
            let title = row.split(separator: "|")[0].filter { $0 != "`" }
                .drop { $0 == " " }.prefix { $0 != "(" }
            let name = title.hasSuffix(" ") ? title.dropLast() : title
            #expect(program.contains(name), "no row of the demo says: \(name)")
        }
    }

    @Test("every key of conf/sallyport.yaml has a comment there or a word in a document")
    func keys() throws {
        let file = try Self.required("conf/sallyport.yaml")
        let documents = SourceTree.files.filter { $0.path.hasSuffix(".md") }
        var findings: [Finding] = []
        for (offset, line) in file.lines.enumerated() {
            guard let match = line.firstMatch(of: /^ *(?:- )?([a-z_]+):/) else { continue }
            let key = String(match.output.1)
            let above = offset > 0 ? file.lines[offset - 1].drop { $0 == " " } : ""
            if above.hasPrefix("#") || line.contains(" #") { continue }
            let isNamed = documents.contains { document in
                document.text.matches(of: /`([^`\n]+)`/).contains { code in
                    code.output.1.split { !$0.isLetter && $0 != "_" }.contains { $0 == key }
                }
            }
            if !isNamed {
                findings.append(file.finding(line: offset + 1, "\(key): say what it is for"))
            }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    // MARK: refusals

    @Test("docs/client-guide.md has every code with its status and action")
    func refusals() throws {
        let reasons = ReasonTable(try Self.required("Sources/Judgement/Reason.swift"))
        let document = try Self.required("docs/client-guide.md")
        #expect(reasons.codes.count > 16)
        for (name, code) in reasons.codes {
            guard let status = reasons.statuses[name] else {
                Issue.record("\(name) has no status")
                continue
            }
            let action = reasons.actions[name] ?? "none"
            let isListed = document.lines.contains {
                $0.hasPrefix("| `\(code)` | \(status) | `\(action)` |")
            }
            // These two are no refusals that a client could see.
            let isInternal = ["ok", "client_closed"].contains(code)
            #expect(
                isListed || isInternal && document.text.contains("`\(code)`"),
                "no row says: \(code), \(status), \(action)")
        }
    }

    // MARK: form

    @Test("no line of a document has more than 120 columns")
    func columns() {
        let findings = SourceTree.files.filter { file in
            file.path.hasSuffix(".md")
                && (!file.path.contains("/") || file.path.hasPrefix("docs/")
                    || file.path.hasPrefix("deploy/"))
        }.flatMap { file in
            file.lines.enumerated().filter { $0.element.count > 120 }.filter { _, line in
                // A row of the table that the program prints cannot be broken.
                file.path != "docs/causes.md" || !line.hasPrefix("| ")
            }.map {
                file.finding(line: $0.offset + 1, "\($0.element.count) columns, at most 120")
            }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }
}

/// What `Reason` says of each case, read from its source.
private struct ReasonTable {
    var codes: [String: String] = [:]
    var statuses: [String: String] = [:]
    /// Without those that have the default action.
    var actions: [String: String] = [:]

    init(_ file: SourceFile) {
        for (names, value) in Self.entries(of: "code", in: file) {
            for name in names { codes[name] = value.filter { $0 != "\"" } }
        }
        for (names, value) in Self.entries(of: "status", in: file) {
            for name in names { statuses[name] = value }
        }
        for (names, value) in Self.entries(of: "action", in: file) {
            let word = value.dropFirst().flatMap { letter -> [Character] in
                letter.isUppercase ? ["_"] + letter.lowercased() : [letter]
            }
            for name in names { actions[name] = String(word) }
        }
    }

    /// The cases and values of the switch in a computed property.
    private static func entries(
        of property: String, in file: SourceFile
    ) -> [(names: [String], value: String)] {
        let block = file.lines.drop { !$0.contains("public var \(property):") }
            .prefix { !$0.hasPrefix("    }") }
            .filter { !$0.contains("//") }.joined(separator: " ")
        return block.matches(of: /case ([^:]+): +(\S+)/).map { match in
            let names = match.output.1.split { !$0.isLetter }.map(String.init)
            return (names, String(match.output.2))
        }
    }
}
