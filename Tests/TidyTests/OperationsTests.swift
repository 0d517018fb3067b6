import Foundation
import Testing

/// The pages in `docs/operations` say what the code does, all of it and nothing else.
@Suite("What the operator's pages say")
struct OperationsTests {}

extension OperationsTests {
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
            .filter {
                $0.path.hasPrefix("Sources/Gateway/Admin/MetricsPage")
                    || $0.path.hasSuffix("Metrics.swift")
                    || $0.path.hasSuffix("Platform.swift")
            }
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
        let events = SourceTree.swiftFiles.filter {
            ["Background", "Gateway", "sallyport"].contains($0.target)
        }
        .flatMap { file in
            file.text.matches(
                of: /[ .](?:repeatedE|e)vent(?:\(\s*(?:level: [^,]+,\s*)?|: )"(\w+)",/
            )
            .map { $0.output.1 }
        }
        #expect(members.count > 20 && events.count > 40)
        let rows = Set(document.lines.flatMap(Self.firstCell))
        for name in Set(members + events) {
            #expect(rows.contains(name), "\(name) has no row in \(document.path)")
        }
    }

    @Test("docs/causes.md has every reason with every detail that the code gives it")
    func causes() throws {
        let checks = try Self.words(of: "Judgement/Check")
        let reasons = try Self.required("Sources/Judgement/Reason.swift").text
            .matches(of: /case \.(\w+): "([a-z_]+)"/)
            .reduce(into: [Substring: Substring]()) { $0[$1.output.1] = $1.output.2 }
        let refusals = SourceTree.swiftFiles
            .filter { ["Gateway", "Judgement"].contains($0.target) }
            .flatMap { $0.text.matches(of: /(?:Refusal|self\.init)\(\s*\.(\w+), \.(\w+)\b(?!\()/) }
        #expect(checks.count > 60 && reasons.count > 30 && refusals.count > 60)
        let rows = try Self.required("docs/causes.md").lines.filter { $0.hasPrefix("| `") }
            .map { line in
                line.split(separator: "|").prefix(2).map { Set(Self.spans($0)) }
            }
        for refusal in refusals {
            let (_, reason, check) = refusal.output
            // Causes of other kinds are held to the page by JudgementTests.
            guard let word = checks[check], let code = reasons[reason] else { continue }
            #expect(
                rows.contains { $0[0].contains(code) && $0[1].contains(word) },
                "docs/causes.md has no row for \(code) with \(word)")
        }
    }

    @Test("docs/causes.md has every outcome of DeviceCheck that leaves a token unjudged")
    func outcomes() throws {
        let labels = try ["AppleFailure", "DeviceCheck"].flatMap { name in
            try Self.required("Sources/AppleServices/\(name).swift").text
                .components(separatedBy: "var label: String {").dropFirst()
                .flatMap { $0.prefix(700).matches(of: /: "([a-z_]+)"\n/).map(\.output.1) }
        }
        #expect(labels.count > 10)
        let named = Set(Self.spans(try Self.required("docs/causes.md").text))
        // With these Apple has judged.
        for label in Set(labels).subtracting(["ok", "never_set", "bad_token"]) {
            #expect(named.contains("device_check_\(label)"), "\(label) has no row")
        }
    }

    /// The words of a closed list of cases, by their names.
    private static func words(of path: String) throws -> [Substring: Substring] {
        try required("Sources/\(path).swift").lines.reduce(into: [:]) { words, line in
            guard let match = line.firstMatch(of: /^ +case (\w+)(?: = "(\w+)")?$/) else { return }
            words[match.output.1] = match.output.2 ?? match.output.1
        }
    }

    /// The code spans in the first cell of a table's row; empty for other lines.
    private static func firstCell(_ line: Substring) -> [Substring] {
        guard line.hasPrefix("| ") else { return [] }
        return spans(line.dropFirst(2).prefix { $0 != "|" })
    }
}
