import YAML

/// A value of the configuration and where it stands, ready to be read as one type or another.
///
/// Every reading that fails reports why and returns nil.
struct Field {
    let node: YAMLNode
    /// As messages name it, `routes[0].attest.mode`; empty for the whole file.
    let path: String
    let context: ReadingContext
    let keyMark: YAMLMark
    /// The key itself, in a mapping whose keys the operator chooses.
    let key: String

    init(
        node: YAMLNode, path: String, context: ReadingContext, keyMark: YAMLMark? = nil,
        key: String = ""
    ) {
        self.node = node
        self.path = path
        self.context = context
        self.keyMark = keyMark ?? node.mark
        self.key = key
    }

    var mark: YAMLMark { node.mark }

    func error(_ message: String) { error(message, at: mark) }

    func error(_ message: String, at mark: YAMLMark) {
        context.error(path.isEmpty ? message : "\(path): \(message)", at: mark)
    }

    func warning(_ message: String) { context.warning("\(path): \(message)", at: mark) }

    func wrongType(expected: String) {
        let found =
            switch node.kind {
            case .scalar("", isPlain: true): "nothing"
            case .scalar(let text, _): "the text \(quoted(text))"
            case .sequence: "a list"
            case .mapping: "a mapping"
            }
        error("expected \(expected), found \(found)")
    }

    var isMapping: Bool {
        if case .mapping = node.kind { true } else { false }
    }

    /// Of several forms of mappings: whether it is the one with `key`.
    func isMapping(with key: String) -> Bool {
        guard case .mapping(let entries) = node.kind else { return false }
        return entries.contains { $0.key == key }
    }

    /// The elements of a list.
    func list() -> [Field]? {
        guard case .sequence(let elements) = node.kind else {
            wrongType(expected: "a list")
            return nil
        }
        return elements.enumerated().map { index, element in
            Field(node: element, path: "\(path)[\(index)]", context: context)
        }
    }

    /// A list whose elements all read well, none twice; the faults of every element are reported.
    func list<Value: Hashable>(_ read: (Field) -> Value?) -> [Value]? {
        guard let elements = list() else { return nil }
        var values: [Value] = []
        var taken: Set<Value> = []
        for element in elements {
            guard let value = read(element) else { continue }
            if taken.insert(value).inserted {
                values.append(value)
            } else {
                element.error("listed twice")
            }
        }
        return values.count == elements.count ? values : nil
    }

    /// A text that is not empty, with `${…}` replaced.
    func text() -> SettingText? {
        guard case .scalar(let raw, _) = node.kind else {
            wrongType(expected: "a single value")
            return nil
        }
        do {
            let outcome = try context.substitution.expand(raw)
            guard !outcome.text.isEmpty else {
                error(raw.isEmpty ? "has no value" : "is empty once ${…} is replaced")
                return nil
            }
            return SettingText(
                value: outcome.text, shown: quoted(outcome.usesFile ? raw : outcome.text),
                isSubstituted: outcome.text != raw)
        } catch {
            self.error(error.message)
            return nil
        }
    }

    /// The path of a file or directory.
    func filePath() -> String? {
        guard let text = text() else { return nil }
        guard !text.value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            error("\(text.shown) is not a path: it holds a control character")
            return nil
        }
        return text.value
    }

    /// One of a closed set of words.
    func choice<Value>(_ choices: [(name: String, value: Value)]) -> Value? {
        guard let text = text() else { return nil }
        if let found = choices.first(where: { $0.name == text.value }) { return found.value }
        let names = choices.map(\.name)
        let ending = Suggestion.ending(for: text.value, among: names, listing: false)
        error("\(text.shown) is not one of \(names.joined(separator: ", "))\(ending)")
        return nil
    }

    func choice<Value: RawRepresentable & CaseIterable>(
        _ type: Value.Type
    ) -> Value? where Value.RawValue == String {
        choice(type.allCases.map { ($0.rawValue, $0) })
    }
}

/// A value after substitution, and how a message may show it.
struct SettingText {
    let value: String
    let shown: String
    /// Some of it came from the environment or a file.
    let isSubstituted: Bool
}

/// In quotes, short, and on one line.
func quoted(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars.prefix(60) {
        shown.unicodeScalars.append(
            scalar.properties.generalCategory == .control || scalar == "\u{2028}"
                ? "\u{FFFD}" : scalar)
    }
    return "\"\(shown)\(text.unicodeScalars.count > 60 ? "…" : "")\""
}
