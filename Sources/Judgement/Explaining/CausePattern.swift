/// A form of `detail`: a word, or a text with parts that vary, such as `rate: <limit>`.
package struct CausePattern: Sendable, Equatable, ExpressibleByStringLiteral {
    /// The pattern as pages show it.
    package let text: String
    /// The fixed texts before, between and after the parts that vary.
    private let pieces: [Substring]

    package init(stringLiteral text: String) {
        self.text = text
        var pieces: [Substring] = []
        var rest = text[...]
        while let start = rest.firstIndex(of: "<"), let end = rest[start...].firstIndex(of: ">") {
            pieces.append(rest[..<start])
            rest = rest[rest.index(after: end)...]
        }
        self.pieces = pieces + [rest]
    }

    /// True if no part varies, so that the pattern is found by a look-up instead of a search.
    package var isWord: Bool { pieces.count == 1 }

    /// True if `detail` has this form. A part that varies must not be empty.
    package func matches(_ detail: String) -> Bool {
        guard let first = pieces.first, let last = pieces.last, pieces.count > 1 else {
            return detail == text
        }
        guard detail.hasPrefix(first), detail.hasSuffix(last) else { return false }
        var rest = detail.utf8.dropFirst(first.utf8.count)
        guard rest.count > last.utf8.count else { return false }
        rest = rest.dropLast(last.utf8.count)
        for piece in pieces.dropFirst().dropLast() {
            guard let end = Self.end(of: piece.utf8, in: rest.dropFirst()) else { return false }
            rest = rest[end...]
        }
        return !rest.isEmpty
    }

    private static func end(
        of piece: Substring.UTF8View, in text: Substring.UTF8View
    ) -> Substring.UTF8View.Index? {
        var rest = text
        while rest.count >= piece.count {
            if rest.starts(with: piece) {
                return rest.index(rest.startIndex, offsetBy: piece.count)
            }
            rest = rest.dropFirst()
        }
        return nil
    }
}
