import Testing

/// The pages in `docs/operations` say what the code does, all of it and nothing else.
@Suite("What the operator's pages say")
struct OperationsTests {
    private static let folder = "docs/operations/"
    private static let reference = folder + "reference.md"

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
        let code = SourceTree.files
            .filter { $0.path.hasPrefix("Sources/Gateway/Admin/MetricsPage") }
            .map(\.text).joined()
        let document = try Self.required(Self.reference)
        let written = Set(code.matches(of: /"((?:sallyport|process)_\w+)"/).map { $0.output.1 })
        let named = Set(
            Self.pages.flatMap {
                $0.text.matches(of: /\b((?:sallyport|process)_\w+)/).map { $0.output.1 }
            })
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
        let lines = try Self.required("Sources/Gateway/Log/AccessLine.swift")
        let members = lines.text.matches(of: /writer\.member\("(\w+)"/).map { $0.output.1 }
        let events = SourceTree.swiftFiles.filter { ["Background", "Gateway"].contains($0.target) }
            .flatMap { file in
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
        let gateway = try Self.required("Sources/Judgement/Check.swift").lines.compactMap {
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
}
