/// A type of a target: how many lines it has over all its files, and what it stores.
struct TypeShape {
    let target: String
    let name: String
    /// Where it is declared.
    var path: String
    var lineNumber: Int
    var lineCount = 0
    var storedPropertyCount = 0
}

/// Measures the types that targets declare, by the indentation that the formatter gives them.
struct TypeShapes {
    /// Every type that stands at the left margin or inside another, extensions of it counted with
    /// it. A nested type counts for the one around it as well.
    private(set) var types: [TypeShape] = []

    init(_ files: [SourceFile]) {
        for file in files {
            guard let target = file.target.map(String.init) else { continue }
            for declaration in Self.declarations(file) where declaration.keyword != "extension" {
                types.append(
                    TypeShape(
                        target: target, name: declaration.name, path: file.path,
                        lineNumber: declaration.lines.lowerBound + 1,
                        lineCount: declaration.lines.count,
                        storedPropertyCount: Self.storedPropertyCount(file, declaration)))
            }
        }
        // Those of one name (`Kind`, `Step`) are several types: only what stands at the left
        // margin of a target can be extended by its bare name.
        let places = Dictionary(
            types.enumerated().map { ("\($1.target) \($1.name)", $0) }, uniquingKeysWith: min)
        for file in files {
            guard let target = file.target else { continue }
            for declaration in Self.declarations(file) where declaration.keyword == "extension" {
                guard let index = places["\(target) \(declaration.name)"] else { continue }
                types[index].lineCount += declaration.lines.count
            }
        }
    }

    /// The names of types that a file declares at its left margin for others to use.
    static func namesDeclared(_ file: SourceFile) -> [String] {
        declarations(file).filter {
            $0.keyword != "extension" && $0.indentation == 0 && !$0.isPrivate
        }.map(\.name)
    }

    private struct Declaration {
        let keyword: Substring
        let name: String
        let indentation: Int
        let isPrivate: Bool
        /// From its first line to that of its closing brace.
        let lines: Range<Int>
    }

    private static func declarations(_ file: SourceFile) -> [Declaration] {
        let pattern =
            /^( *)((?:@\w+ |[a-z]+ )*)(class|struct|enum|actor|protocol|extension) ([A-Z][\w.]*)/
        let lines = file.code.lines
        return lines.indices.compactMap { index in
            guard let match = lines[index].firstMatch(of: pattern) else { return nil }
            let closing = match.output.1 + "}"
            let isOneLine = lines[index].hasSuffix("}")
            let end =
                isOneLine ? index : lines[index...].firstIndex { $0.hasPrefix(closing) } ?? index
            return Declaration(
                keyword: match.output.3, name: String(match.output.4),
                indentation: match.output.1.count,
                isPrivate: match.output.2.contains("private"), lines: index..<end + 1)
        }
    }

    /// Counts `let` and `var` of the type's own level; a brace without `=` before it computes.
    private static func storedPropertyCount(_ file: SourceFile, _ type: Declaration) -> Int {
        guard type.keyword != "protocol" else { return 0 }
        let margin = String(repeating: " ", count: type.indentation + 4)
        let pattern = /^(?:@\w+ )*(?:[a-z]+(?:\(\w+\))? )*(?:let|var) +\w+/
        return file.code.lines[type.lines].count { line in
            guard line.hasPrefix(margin) else { return false }
            let text = line.dropFirst(margin.count)
            guard text.firstMatch(of: pattern) != nil, !text.contains("static ") else {
                return false
            }
            guard let brace = text.firstIndex(of: "{") else { return true }
            return text[..<brace].contains("=")
        }
    }
}
