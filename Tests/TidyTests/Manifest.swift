/// The targets of Package.swift with the tier that the comment above them says.
struct Manifest {
    struct Target {
        let name: String
        let tier: Int
        let lineNumber: Int
        let dependencies: [String]
        /// Where its sources lie.
        let folder: String
    }

    /// Those of the program.
    let targets: [Target]
    /// Those under the mark of the tests, which stand above every tier.
    let tests: [Target]

    private static let testTier = 6

    /// Reads the text from the mark of the first tier to the end of the list; each entry is a call
    /// over one or more lines whose first string is the name and whose others are the dependencies.
    init(_ file: SourceFile) {
        var targets: [Target] = []
        var tier: Int?
        var entry = ""
        var entryLineNumber = 0
        for (offset, line) in file.lines.enumerated() {
            let text = line.drop { $0 == " " }
            if let mark = text.firstMatch(of: /^\/\/ MARK: tier (\d)/) {
                tier = Int(mark.output.1)
                continue
            }
            if text.hasPrefix("// MARK: tests") {
                tier = Self.testTier
                continue
            }
            if entry.isEmpty, text.hasPrefix("]") { tier = nil }
            guard let tier, !text.hasPrefix("//"), !text.isEmpty else { continue }
            if entry.isEmpty { entryLineNumber = offset + 1 }
            entry += text
            guard entry.count(where: { $0 == "(" }) == entry.count(where: { $0 == ")" }) else {
                continue
            }
            let path = entry.firstMatch(of: /path: "([^"]+)"/).map { String($0.output.1) }
            let strings =
                entry
                .replacing(/path: "[^"]+"|excluding: \[[^\]]*\]/, with: "")
                .matches(of: /"([^"]+)"/).map { String($0.output.1) }
            if let name = strings.first {
                let root = tier == Self.testTier ? "Tests/" : "Sources/"
                targets.append(
                    Target(
                        name: name, tier: tier, lineNumber: entryLineNumber,
                        dependencies: Array(strings.dropFirst()), folder: path ?? root + name))
            }
            entry = ""
        }
        self.targets = targets.filter { $0.tier < Self.testTier }
        tests = targets.filter { $0.tier == Self.testTier }
    }

    func tier(of name: String) -> Int? { targets.first { $0.name == name }?.tier }
}

extension SourceFile {
    /// The modules that it imports, with the numbers of the lines.
    var imports: [(lineNumber: Int, module: String)] {
        let pattern = /\bimport +(?:(?:struct|class|enum|protocol|func|var|let) +)?(\w+)/
        return code.lines.enumerated().compactMap { offset, line in
            line.firstMatch(of: pattern).map { (offset + 1, String($0.output.1)) }
        }
    }
}
