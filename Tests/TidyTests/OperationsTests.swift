import Testing

/// The pages in `docs/operations` say what the code does, all of it and nothing else.
@Suite("What the operator's pages say")
struct OperationsTests {
    private static let folder = "docs/operations/"
    private static let reference = folder + "reference.md"
    private static let settings = folder + "settings.md"

    private static func required(_ path: String) throws -> SourceFile {
        try #require(SourceTree.read(path), "\(path) is missing")
    }

    private static var pages: [SourceFile] {
        SourceTree.files.filter { $0.path.hasPrefix(folder) && $0.path.hasSuffix(".md") }
    }

    /// The code spans of `text`, without their backticks.
    private static func spans(_ text: some StringProtocol) -> [Substring] {
        Substring(text).matches(of: /`([^`\n]+)`/).map(\.output.1)
    }

    private static func words(_ span: Substring) -> [String] {
        span.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
    }

    @Test("docs/operations/README.md leads to every other page")
    func overview() throws {
        let overview = try Self.required(Self.folder + "README.md")
        let names = Self.pages.map { String($0.path.dropFirst(Self.folder.count)) }
        #expect(names.count > 9)
        for name in names where name != "README.md" {
            #expect(
                overview.text.contains("](\(name))"), "\(overview.path) does not lead to \(name)")
        }
    }

    @Test("docs/operations/reference.md has every metric family of the code, and no page another")
    func metrics() throws {
        let code = try [
            "MetricsPage", "MetricsPage+Apple", "MetricsPage+Counters", "MetricsPage+Receipts",
            "MetricsPage+Rollouts", "MetricsPage+Servers",
        ].map {
            try Self.required("Sources/Gateway/Admin/\($0).swift").text
        }.joined()
        let document = try Self.required(Self.reference)
        let written = Set(code.matches(of: /"(sallyport_\w+)"/).map { $0.output.1 })
        let named = Set(
            Self.pages.flatMap { $0.text.matches(of: /\b(sallyport_\w+)/).map { $0.output.1 } })
        #expect(!written.isEmpty)
        #expect(written == named)
        for family in written {
            #expect(
                document.lines.contains { $0.hasPrefix("| `\(family)` |") },
                "\(family) has no row in the tables of metrics")
        }
    }

    @Test("docs/operations/reference.md has every member of access lines and every event")
    func logs() throws {
        let document = try Self.required(Self.reference)
        let lines = try Self.required("Sources/Gateway/Log/WorkerLog.swift")
        let members = lines.text.matches(of: /writer\.member\("(\w+)"/).map { $0.output.1 }
        let events = SourceTree.swiftFiles.filter { $0.target == "Gateway" }.flatMap { file in
            file.text.matches(of: /[ .](?:repeatedE|e)vent\(\s*(?:level: [^,]+,\s*)?"(\w+)",/)
                .map { $0.output.1 }
        }
        #expect(members.count > 20 && events.count > 40)
        let rows = Set(document.lines.flatMap(Self.firstCell))
        for name in Set(members + events) {
            #expect(rows.contains(name), "\(name) has no row in \(document.path)")
        }
    }

    @Test("docs/operations/reference.md has every detail that the code writes as one word")
    func details() throws {
        let document = try Self.required(Self.reference)
        let gateway = try Self.required("Sources/Gateway/Exchange/Check.swift").lines.compactMap {
            $0.firstMatch(of: /^ +case (\w+)(?: = "(\w+)")?$/).map { $0.output.2 ?? $0.output.1 }
        }
        let codes = try [
            "HTTP/HTTPFault", "AppAttest/Attestation/AttestationFailure",
            "AppAttest/ClientData/ClientDataFailure", "GatewayTokens/SessionToken",
        ].flatMap {
            try Self.required("Sources/\($0).swift").text
                .matches(of: /case (?:\.\w+: |\w+ = )"([a-z_0-9]+)"/).map(\.output.1)
        }
        #expect(gateway.count > 60 && codes.count > 60)
        let named = Set(Self.spans(document.text))
        // What has no word of its own, so that no log holds it.
        for detail in Set(gateway + codes).subtracting(["unknown"]).sorted() {
            #expect(named.contains(detail), "\(detail) is not in \(document.path)")
        }
    }

    /// The code spans in the first cell of a table's row; empty for other lines.
    private static func firstCell(_ line: Substring) -> [Substring] {
        guard line.hasPrefix("| ") else { return [] }
        return spans(line.dropFirst(2).prefix { $0 != "|" })
    }

    // MARK: settings

    /// The keys of `conf/sallyport.yaml`, those of examples in comments among them.
    private static func configuredKeys(_ file: SourceFile) -> Set<String> {
        var keys: Set<String> = []
        for line in file.lines {
            // `# ` begins words; what is set is further in.
            guard line.firstMatch(of: /^ *#(?: ?[^ #]| *#)/) == nil else { continue }
            let set = line.drop { $0 == " " || $0 == "#" || $0 == "-" }
            let comment = set.firstMatch(of: /[ ]#/)
            let value = comment.map { set[..<$0.range.lowerBound] } ?? set
            guard let key = value.firstMatch(of: /^([a-z_][a-z0-9_]*):(?: |$)/) else { continue }
            keys.insert(String(key.output.1))
            for inner in value.matches(of: /[{,] *([a-z_][a-z0-9_]*):[ ]/) {
                keys.insert(String(inner.output.1))
            }
        }
        return keys
    }

    @Test("docs/operations/settings.md has every key of conf/sallyport.yaml, and no other")
    func keys() throws {
        let configuration = try Self.required("conf/sallyport.yaml")
        let document = try Self.required(Self.settings)
        let keys = Self.configuredKeys(configuration)
        #expect(keys.count > 250)
        let named = Set(Self.spans(document.text).flatMap(Self.words))
        for key in keys.subtracting(named).sorted() {
            Issue.record("\(key) is in \(configuration.path), and not in \(document.path)")
        }
        let listed = Set(document.lines.flatMap(Self.firstCell).flatMap(Self.words))
        for key in listed where !configuration.text.contains("\(key):") {
            Issue.record("\(key) is in \(document.path), and not in \(configuration.path)")
        }
    }
}
