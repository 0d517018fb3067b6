/// The targets of Package.swift with the tier that the comment above them says.
struct Manifest {
    struct Target {
        let name: String
        let tier: Int
        let lineNumber: Int
        let dependencies: [String]
    }

    let targets: [Target]

    /// Reads the text between `targets: [` and the tests; each entry is a call over one or more
    /// lines whose first string is the name and whose others are the dependencies.
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
            if text.hasPrefix("// MARK: tests") { break }
            guard let tier, !text.hasPrefix("//"), !text.isEmpty else { continue }
            if entry.isEmpty { entryLineNumber = offset + 1 }
            entry += text
            guard entry.count(where: { $0 == "(" }) == entry.count(where: { $0 == ")" }) else {
                continue
            }
            let strings = entry.matches(of: /"([^"]+)"/).map { String($0.output.1) }
            if let name = strings.first {
                targets.append(
                    Target(
                        name: name, tier: tier, lineNumber: entryLineNumber,
                        dependencies: Array(strings.dropFirst())))
            }
            entry = ""
        }
        self.targets = targets
    }

    func tier(of name: String) -> Int? { targets.first { $0.name == name }?.tier }
}
