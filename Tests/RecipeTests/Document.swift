import Foundation
import GatewayTesting

/// A page for operators, whose examples are indented blocks.
struct Document {
    struct Block {
        let path: String
        let lineNumber: Int
        let lines: [String]

        var text: String { lines.joined(separator: "\n") + "\n" }
        var place: String { "\(path):\(lineNumber)" }
        /// A block that begins with a key of YAML.
        var isYAML: Bool { lines[0].firstMatch(of: #/^[a-z_]+:(?:\s|$)/#) != nil }
        /// The OpenTelemetry collector's, which nothing here runs.
        var isOfCollector: Bool { lines[0] == "receivers:" }
        var isConfiguration: Bool { isYAML && !isOfCollector }
    }

    let path: String
    let blocks: [Block]

    /// README.md and every page of `docs/operations`.
    static let all: [Document] = {
        let folder = "docs/operations"
        let names =
            (try? FileManager.default.contentsOfDirectory(
                atPath: Repository.path(of: folder))) ?? []
        let pages = names.filter { $0.hasSuffix(".md") }.sorted().map { folder + "/" + $0 }
        return (["README.md"] + pages).compactMap { try? Document($0) }
    }()

    init(_ path: String) throws {
        self.path = path
        let text = try Repository.text(of: path)
        var blocks: [Block] = []
        var (open, begin, isBlank, isFenced) = ([String](), 0, true, false)
        for (offset, line) in text.components(separatedBy: "\n").enumerated() {
            if line.hasPrefix("```") { isFenced.toggle() }
            let isIndented = line.hasPrefix("    ") && !isFenced
            // An indented line below a paragraph goes on with it; configurations have empty lines.
            if isIndented, isBlank || !open.isEmpty {
                if open.isEmpty { begin = offset + 1 }
                open.append(line)
            } else if line.isEmpty, Self.block(path, begin, open)?.isYAML == true {
                open.append(line)
            } else {
                if let block = Self.block(path, begin, open) { blocks.append(block) }
                open = []
            }
            isBlank = line.isEmpty
        }
        self.blocks = blocks
    }

    private static func block(_ path: String, _ number: Int, _ lines: [String]) -> Block? {
        guard !lines.isEmpty else { return nil }
        let depth = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        var shown = lines.map { String($0.dropFirst(depth)) }
        while shown.last?.isEmpty == true { shown.removeLast() }
        return Block(path: path, lineNumber: number, lines: shown)
    }
}
