/// Shows the line of a problem in the text of a configuration, with its secrets masked.
struct SourceExcerpt: Sendable {
    private let lines: [Substring]

    init(_ text: [UInt8]) {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let isMarked = text.starts(with: byteOrderMark)
        let text = String(
            decoding: text.dropFirst(isMarked ? byteOrderMark.count : 0), as: UTF8.self)
        lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
    }

    /// The line, cut to the width, and a caret below the column. Nil for a place that is not in the
    /// text, and for a line that continues a secret.
    func text(line: Int, column: Int) -> String? {
        guard lines.indices.contains(line - 1), column > 0, !continuesSecret(line) else {
            return nil
        }
        // Columns count scalars, and so does the excerpt: a tab is one of them.
        var shown = lines[line - 1].unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .control ? " " : scalar
        }
        guard column <= shown.count + 1 else { return nil }
        hideSecrets(in: &shown)
        let column = min(column, shown.count + 1)
        let start = max(0, min(column - Self.columnCountMax / 2, shown.count - Self.columnCountMax))
        let end = min(shown.count, start + Self.columnCountMax)
        var window = String.UnicodeScalarView()
        window.append(contentsOf: shown[start..<end])
        let number = String(line)
        let margin = String(repeating: " ", count: number.count)
        let space = String(repeating: " ", count: column - 1 - start)
        return "  \(number) | \(String(window))\n  \(margin) | \(space)^"
    }

    /// True if the value of a key for secrets may go on in this line: the key is the last one
    /// above, or the key of the mapping that the line is in.
    private func continuesSecret(_ line: Int) -> Bool {
        func indentation(_ line: Substring) -> Int { line.prefix { $0 == " " }.count }
        func isSecret(_ line: Substring) -> Bool {
            Self.secretKey(in: Array(line.unicodeScalars)) != nil
        }
        let own = lines[line - 1]
        let above = lines[..<(line - 1)].suffix(Self.lineCountMax).reversed().lazy.filter {
            !$0.allSatisfy(\.isWhitespace)
        }
        if !own.contains(":"), let key = above.first(where: { $0.contains(":") }), isSecret(key) {
            return true
        }
        if indentation(own) == 0 { return false }
        // A line whose mapping begins too far above is not shown.
        return above.first { indentation($0) < indentation(own) }.map(isSecret) ?? true
    }

    /// Masks the values of keys for secrets, and URLs up to the last @ with as many stars as
    /// characters, so that the rest of the line stays in its column. The URL of a store without an
    /// @ is masked as a whole, because a password may be anywhere in it.
    private func hideSecrets(in shown: inout [Unicode.Scalar]) {
        if let start = Self.secretKey(in: shown), start < shown.count {
            shown.replaceSubrange(start..., with: " ********".unicodeScalars)
        }
        guard let start = Self.end(ofAny: ["://"], in: shown) else { return }
        let isOfWeb = Self.end(ofAny: ["http://", "https://"], in: shown) == start
        let end = shown.lastIndex(of: "@") ?? (isOfWeb ? start : shown.count)
        for place in start..<max(start, end) { shown[place] = "*" }
    }

    /// The column behind the first of `words`.
    private static func end(ofAny words: [String], in line: [Unicode.Scalar]) -> Int? {
        let places = words.compactMap { word -> Int? in
            let word = Array(word.unicodeScalars)
            guard word.count <= line.count else { return nil }
            return (0...line.count - word.count).first {
                line[$0] == word[0] && line[$0..<$0 + word.count].elementsEqual(word)
            }
            .map { $0 + word.count }
        }
        return places.min()
    }

    /// The column at which the value of a key for secrets begins.
    private static func secretKey(in line: [Unicode.Scalar]) -> Int? {
        let folded = line.map {
            $0.isASCII ? $0.properties.lowercaseMapping.unicodeScalars.first ?? $0 : $0
        }
        return end(
            ofAny: [
                "password:", "password=", "authorization:", "cookie:", "token:", "secret:",
                "api-key:",
            ], in: folded
        )
    }

    /// The lines above in which the key of a line is looked for. A line without one is not shown.
    private static let lineCountMax = 100
    private static let columnCountMax = 96
}
