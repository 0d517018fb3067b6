import YAML

/// Hints that tell how to write a value of another shape, made from the setting's declaration.
extension Field {
    /// `: write …`, or the known keys; empty if the shape tells neither. `key`: the key that a
    /// value in place of a mapping is meant for.
    func meantForm(_ shape: Shape, for key: String? = nil) -> String {
        guard !path.isEmpty else { return "" }
        if let key = Suggestion.keyWithoutSpace(in: shownText ?? hiddenText, among: shape.keys) {
            return ": " + Suggestion.space(after: key)
        }
        guard let form = shape.form(shownText.map(Self.inFlow) ?? "…", for: key) else {
            return shape.keys.isEmpty ? "" : "; known: " + shape.keys.joined(separator: ", ")
        }
        let own = path.split(separator: ".").last.map { "\($0): " } ?? ""
        return ": write " + (path.hasSuffix("]") ? "" : own) + form
    }

    /// The text of the value, if a message may show it as it is.
    private var shownText: String? {
        guard case .scalar(let text, _) = node.kind, !text.isEmpty, !text.contains("://"),
            !Self.mayHoldPassword(text), quoted(text) == "\"\(text)\""
        else { return nil }
        return text
    }

    private var hiddenText: String {
        if case .scalar(let text, _) = node.kind { text } else { "" }
    }

    /// A text as it is written within brackets.
    private static func inFlow(_ text: String) -> String {
        let isPlain =
            !text.contains { ",[]{}#\"' ".contains($0) } && !text.hasSuffix(":")
            && text.first.map { "-?:!&*|>%@`".contains($0) } == false
        return isPlain ? text : quoted(text)
    }
}

extension Shape {
    /// The keys of a mapping that are fixed.
    fileprivate var keys: [String] {
        switch self {
        case .section(let entries): entries.map(\.key)
        case .like(_, let shape): shape.keys
        default: []
        }
    }

    /// A value of this shape in one line, made with `text`. Nil if it is unclear what to write.
    fileprivate func form(_ text: String, for key: String? = nil) -> String? {
        switch self {
        case .number, .quantity, .words, .text: return text
        case .list(let element): return element.form(text, for: key).map { "[\($0)]" }
        // A name is missing. The text may be meant for it or for the value.
        case .named(let word, let value): return "{ \(word): \(value.form("…") ?? "…") }"
        case .either(let shapes):
            return shapes.lazy.compactMap { $0.form(text) }.first
        case .like(_, let shape): return shape.form(text, for: key)
        case .section(let entries):
            let needed = key.map { [$0] } ?? entries.filter(\.isRequired).map(\.key)
            guard needed.count != 1 else {
                let shape = entries.first { $0.key == needed[0] }?.shape
                return "{ \(needed[0]): \(shape?.form(text) ?? "…") }"
            }
            if needed.isEmpty { return nil }
            return "{ " + needed.map { "\($0): …" }.joined(separator: ", ") + " }"
        }
    }
}

extension SettingsLoader {
    /// Every key that some section has.
    static var allKeys: [String] {
        func keys(_ entries: [Entry]) -> [String] {
            entries.flatMap { [$0.key] + $0.shape.sections.flatMap { keys($0.entries) } }
        }
        return keys(SettingsReader(processorCount: 1).form.entries)
    }
}
