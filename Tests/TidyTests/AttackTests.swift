import Foundation
import Testing

/// `docs/proof/attacks.md`, and what `docs/proof/threat-model.md` says is not defended.
@Suite("Attacks")
struct AttackTests {}

extension AttackTests {
    private static let page = "docs/proof/attacks.md"
    private static let model = "docs/proof/threat-model.md"

    /// The items below a heading, each in one line with its nested list. The lines of `Shown by`
    /// are left out.
    private static func items(_ path: String, from heading: String) throws -> [String] {
        let page = try #require(SourceTree.read(path), "\(path) is not there")
        var items: [String] = []
        for line in page.lines.drop(while: { $0 != heading }).dropFirst() {
            if line.hasPrefix("- ") {
                items.append(String(line))
            } else if line.hasPrefix("  "), !line.hasPrefix("  Shown by"), !items.isEmpty {
                items[items.count - 1] += " " + line.drop { $0 == " " }
            }
        }
        return items
    }

    @Test("that are defended have a name and a defence")
    func defended() throws {
        let items = try Self.items(Self.page, from: "# Attacks")
        #expect(items.count > 60)
        for item in items {
            #expect(item.contains(#/^- \*\*.+?\*\*.*?: .+\.$/#), "no defence: \(item)")
        }
    }

    @Test("each have a test that exists")
    func tests() throws {
        let page = try #require(SourceTree.read(Self.page))
        var isShown = true
        for line in page.lines {
            if line.hasPrefix("- ") {
                #expect(isShown, "no test above: \(line)")
                isShown = false
            }
            guard let name = line.firstMatch(of: #/^  Shown by `(.+)`\.$/#)?.output.1 else {
                continue
            }
            isShown = true
            #expect(SourceTree.textsInTests.contains(name), "no test `\(name)`")
        }
        #expect(isShown)
    }

    @Test("that are not defended are each followed by what would show them")
    func undefended() throws {
        let items = try Self.items(Self.model, from: "## What is not defended")
        #expect(items.count > 25)
        let known =
            try [
                "docs/operations/reference.md", "deploy/prometheus/sallyport.rules.yml",
                "docs/operations/signals.md", "docs/operations/other-issuers.md", "docs/causes.md",
            ].map { try String(contentsOf: SourceTree.root.appending(path: $0), encoding: .utf8) }
            .joined()
        for item in items {
            let parts = item.components(separatedBy: " Shows: ")
            #expect(item.hasPrefix("- **") && parts.count == 2, "nothing shows it: \(item)")
            // Names of metrics, events, alarms and signals; not paths, headers and commands.
            for match in (parts.last ?? "").matches(of: #/`([A-Za-z]+_?[a-z_]*)`/#)
            where match.output.1.contains("_") || match.output.1.hasPrefix("Sallyport") {
                let name = String(match.output.1)
                #expect(known.contains(name), "\(name) is no metric, event or alarm")
            }
        }
    }
}
