import Foundation
import Testing

/// `docs/proof/attacks.md` beside the threat model, the tests, and what the gateway says of itself.
@Suite("Attacks")
struct AttackTests {
    /// The lines of a part of a page, without the line breaks inside its items.
    private static func items(_ path: String, from heading: String, to end: String?) throws
        -> [String]
    {
        let page = try #require(SourceTree.read(path), "\(path) is not there")
        let lines = page.lines.drop { $0 != heading }.dropFirst()
        let part = lines.prefix { line in end.map { line != $0 } ?? true }
        return part.reduce(into: []) { items, line in
            if line.hasPrefix("  "), !line.hasPrefix("  Shown by"), !items.isEmpty {
                items[items.count - 1] += " " + line.drop { $0 == " " }
            } else {
                items.append(String(line))
            }
        }
    }

    private static let page = "docs/proof/attacks.md"
    private static let model = "docs/proof/threat-model.md"

    @Test("that are defended are those of the threat model, and each names a test")
    func defended() throws {
        let table = try Self.items(
            Self.model, from: "## What is defended, and how",
            to: "## What one unproved request may cost")
        let attacks = table.filter { $0.hasPrefix("| ") }.dropFirst(2)
            .compactMap { $0.dropFirst(2).components(separatedBy: " | ").first }
        #expect(attacks.count > 60)
        let here = try Self.items(
            Self.page, from: "## What is defended", to: "## Faults that others had")
        let named = here.filter { $0.hasPrefix("- ") }.map { String($0.dropFirst(2)) }
        #expect(named == attacks)
    }

    @Test("each have a test that exists")
    func tests() throws {
        let page = try #require(SourceTree.read(Self.page))
        let files = SourceTree.swiftFiles.filter(\.isTest)
        var isShown = true
        for line in page.lines.prefix(while: { !$0.hasPrefix("## What is not") }) {
            if line.hasPrefix("- ") {
                #expect(isShown, "no test above: \(line)")
                isShown = false
            }
            guard let name = line.firstMatch(of: #/^  Shown by `(.+)`\.$/#)?.output.1 else {
                continue
            }
            isShown = true
            #expect(files.contains { $0.text.contains("\"\(name)\"") }, "no test `\(name)`")
        }
        #expect(isShown)
    }

    /// What a text puts in bold at the beginning of its items, without the mark at its end.
    private static func subjects(_ items: [String]) -> [String] {
        items.compactMap {
            $0.firstMatch(of: #/^- \*\*(.+?)[.,]?\*\*/#).map { String($0.output.1) }
        }
    }

    @Test("that are not defended are those of the threat model, each with what would show it")
    func undefended() throws {
        let model = try Self.items(
            Self.model, from: "## What is not defended", to: "## `trust.extra_roots`")
        let here = try Self.items(
            Self.page, from: "## What is not defended, and how it would show", to: nil)
        #expect(Self.subjects(model).count > 25)
        #expect(Set(Self.subjects(here)) == Set(Self.subjects(model)))
        let known =
            try [
                "docs/operations/reference.md", "deploy/prometheus/sallyport.rules.yml",
                "docs/operations/signals.md", "docs/operations/other-issuers.md", "docs/causes.md",
            ].map { try String(contentsOf: SourceTree.root.appending(path: $0), encoding: .utf8) }
            .joined()
        // Names of metrics, events, alarms and signals; not paths, headers and commands.
        for item in here {
            for match in item.drop(while: { $0 != ":" }).matches(of: #/`([A-Za-z]+_?[a-z_]*)`/#)
            where match.output.1.contains("_") || match.output.1.hasPrefix("Sallyport") {
                let name = String(match.output.1)
                #expect(known.contains(name), "\(name) is no metric, event or alarm")
            }
        }
    }
}
