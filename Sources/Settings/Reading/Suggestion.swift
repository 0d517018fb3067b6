/// Finds the word that a mistyped one was meant to be.
enum Suggestion {
    /// The candidate with the fewest edits, if they are few enough for a typing error; else the
    /// only candidate that begins with `word`.
    static func nearest(to word: String, among candidates: [String]) -> String? {
        let editCountMax = max(1, min(word.count, 24) / 3)
        var best: (candidate: String, editCount: Int)?
        // A very long word is no typing error, and the distance costs the product of the lengths.
        guard word.utf8.count <= 64 else { return nil }
        for candidate in candidates {
            let editCount = distance(Array(word.lowercased()), Array(candidate.lowercased()))
            if editCount <= editCountMax, editCount < best?.editCount ?? .max {
                best = (candidate, editCount)
            }
        }
        if let best { return best.candidate }
        guard word.count >= 3 else { return nil }
        let longer = candidates.filter { $0.hasPrefix(word) }
        return longer.count == 1 ? longer[0] : nil
    }

    /// `: did you mean "…"?`, or the known words, or nothing.
    static func ending(for word: String, among candidates: [String], listing: Bool) -> String {
        if let nearest = nearest(to: word, among: candidates) {
            return ": did you mean \"\(nearest)\"?"
        }
        guard listing, !candidates.isEmpty else { return "" }
        return "; known: " + candidates.joined(separator: ", ")
    }

    /// The key that `text` begins with, if a colon without a space follows it: `bind` in
    /// `bind:127.0.0.1:80`.
    static func keyWithoutSpace(in text: String, among keys: [String]) -> String? {
        guard let colon = text.firstIndex(of: ":"), text[colon...].dropFirst().first != nil else {
            return nil
        }
        return keys.first { $0 == text[..<colon] }
    }

    static func space(after key: String) -> String { "write a space after \"\(key):\"" }

    /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
    static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in 0..<left.count {
            var current = [row + 1]
            for column in 0..<right.count {
                let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
                var fewest = min(replaced, last[column + 1] + 1, current[column] + 1)
                let isSwap =
                    row > 0 && column > 0 && left[row] == right[column - 1]
                    && left[row - 1] == right[column]
                if isSwap { fewest = min(fewest, beforeLast[column - 1] + 1) }
                current.append(fewest)
            }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }
}
