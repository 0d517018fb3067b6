/// Shows where a problem is in the text of a configuration, without any secret that stands there.
struct SourceExcerpt: Sendable {
    private let lines: [Substring]

    init(_ text: [UInt8]) {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let isMarked = text.starts(with: byteOrderMark)
        let text = String(
            decoding: text.dropFirst(isMarked ? byteOrderMark.count : 0), as: UTF8.self)
        lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
    }

    /// The line, cut to what fits, and a caret below the column. Nil for a place that is not in the
    /// text, and for a line that goes on with a secret.
    func text(line: Int, column: Int) -> String? {
        guard lines.indices.contains(line - 1), column > 0, !continuesSecret(line) else {
            return nil
        }
        // Columns count scalars, and so does what is shown: a tab is one of them.
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

    /// Whether the value of a secret's key may go on in this line: the key is the last one above,
    /// or that of the mapping which the line is in.
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
        // One whose mapping begins too far away is not shown.
        return above.first { indentation($0) < indentation(own) }.map(isSecret) ?? true
    }

    /// Puts stars in place of what stands behind the keys of secrets, and in URLs before the last
    /// @, as many as there are letters, so that what follows stays in its column. A URL of a store
    /// that lacks its @ may hold a password anywhere.
    private func hideSecrets(in shown: inout [Unicode.Scalar]) {
        if let start = Self.secretKey(in: shown), start < shown.count {
            shown.replaceSubrange(start..., with: " ********".unicodeScalars)
        }
        guard let start = Self.end(ofAny: ["://"], in: shown) else { return }
        let isOfWeb = Self.end(ofAny: ["http://", "https://"], in: shown) == start
        let end = shown.lastIndex(of: "@") ?? (isOfWeb ? start : shown.count)
        for place in start..<max(start, end) { shown[place] = "*" }
    }

    /// The place behind the first of `words`.
    private static func end(ofAny words: [String], in line: [Unicode.Scalar]) -> Int? {
        let places = words.compactMap { word -> Int? in
            let word = Array(word.unicodeScalars)
            guard word.count <= line.count else { return nil }
            return (0...line.count - word.count).first {
                line[$0..<$0 + word.count].elementsEqual(word)
            }
            .map { $0 + word.count }
        }
        return places.min()
    }

    /// Where the value behind a key begins that holds a secret.
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

    /// As far up as the key of a line is looked for: what is further away is not shown.
    private static let lineCountMax = 100
    private static let columnCountMax = 96
}
