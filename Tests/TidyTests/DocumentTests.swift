import Foundation
import Testing

@Suite("Documents")
struct DocumentTests {}

extension DocumentTests {
    private static let phasePath = "Sources/Gateway/Exchange/Phase.swift"
    private static let requestPath = "docs/request-path.md"
    private static let wordCountMax = 80_000

    @Test("docs/request-path.md lists every phase of the code once, in order")
    func phases() throws {
        guard let source = SourceTree.read(Self.phasePath) else { return }
        let document = try #require(
            SourceTree.read(Self.requestPath), "\(Self.requestPath): it must list every phase")
        let phases = source.code.lines.flatMap { line -> [String] in
            guard let match = line.firstMatch(of: /^\s+case +([\w, ]+)$/) else { return [] }
            return match.output.1.split(separator: ",").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
        #expect(!phases.isEmpty, "\(Self.phasePath): no cases found")
        let listed = document.lines.compactMap(Self.identifier).filter(phases.contains)
        #expect(
            listed == phases,
            "\(Self.requestPath) lists \(listed), the phases of \(Self.phasePath) are \(phases)")
    }

    /// The `name` that a heading or the first cell of a table's row begins with.
    private static func identifier(_ line: Substring) -> String? {
        line.firstMatch(of: /^(?:#+ +(?:\d+\. +)?|\| *)`(\w+)`/).map { String($0.output.1) }
    }

    @Test("every example configuration is named in README.md or docs")
    func examples() {
        let documents = SourceTree.files.filter { $0.path.hasSuffix(".md") }
        let findings = SourceTree.files
            .filter { $0.path.hasPrefix("conf/") && $0.path.hasSuffix(".yaml") }
            .filter { example in
                let name = String(example.path.split(separator: "/").last ?? "")
                return !documents.contains { $0.text.contains(name) }
            }
            .map { $0.finding(line: 1, "no document names this example: say what it is for") }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("the pages under docs have at most 80,000 words together")
    func words() {
        let pages = SourceTree.files
            .filter { $0.path.hasPrefix("docs/") && $0.path.hasSuffix(".md") }
            .map { page in
                // As `wc -w` counts them.
                (path: page.path, wordCount: page.text.split { $0.isWhitespace }.count)
            }
            .sorted { $0.wordCount > $1.wordCount }
        let wordCount = pages.reduce(0) { $0 + $1.wordCount }
        let longest = pages.prefix(5).map { "\($0.path) has \($0.wordCount)" }
            .joined(separator: ", ")
        #expect(pages.count > 50)
        #expect(
            wordCount <= Self.wordCountMax,
            "docs has \(wordCount) words: say each fact once, and link to it. \(longest)")
    }

    @Test("every relative link of a document leads to a file")
    func links() {
        let findings = SourceTree.files.filter { $0.path.hasSuffix(".md") }.flatMap { document in
            document.lines.enumerated().flatMap { offset, line in
                line.matches(of: /\]\(([^)#\s]+)(?:#[^)]*)?\)/)
                    .map { String($0.output.1) }
                    .filter { !$0.contains("://") && !Self.exists($0, beside: document) }
                    .map { document.finding(line: offset + 1, "\($0) does not exist") }
            }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    private static func exists(_ link: String, beside document: SourceFile) -> Bool {
        FileManager.default.fileExists(atPath: target(of: link, beside: document).path)
    }

    private static func target(of link: String, beside document: SourceFile) -> URL {
        let path = SourceTree.root.appendingPathComponent(document.path)
        guard !link.isEmpty else { return path }
        return path.deletingLastPathComponent().appendingPathComponent(link).standardizedFileURL
    }

    @Test("every link to a heading leads to one")
    func anchors() {
        let documents = SourceTree.files.filter { $0.path.hasSuffix(".md") }
        let anchors = Dictionary(
            uniqueKeysWithValues: documents.map { document in
                (Self.target(of: "", beside: document).path, Self.anchors(of: document))
            })
        let findings = documents.flatMap { document in
            document.lines.enumerated().flatMap { offset, line in
                line.matches(of: /\]\(([^)#\s]*)#([^)\s]+)\)/).compactMap { match -> Finding? in
                    let (link, anchor) = (String(match.output.1), String(match.output.2))
                    let path = Self.target(of: link, beside: document).path
                    guard !link.contains("://"), let known = anchors[path],
                        !known.contains(anchor)
                    else { return nil }
                    return document.finding(line: offset + 1, "no heading is \(link)#\(anchor)")
                }
            }
        }
        #expect(anchors.values.joined().count > 200)
        #expect(findings.isEmpty, "\(report(findings))")
    }

    /// What GitHub calls the headings of `document` in links.
    private static func anchors(of document: SourceFile) -> Set<String> {
        var isCode = false
        var anchors: Set<String> = []
        for line in document.lines {
            if line.hasPrefix("```") { isCode.toggle() }
            guard !isCode, let match = line.firstMatch(of: /^#+ +(.+)$/) else { continue }
            let kept = match.output.1.lowercased().filter {
                $0.isLetter || $0.isNumber || "_- ".contains($0)
            }
            anchors.insert(kept.replacing(" ", with: "-"))
        }
        return anchors
    }
}
