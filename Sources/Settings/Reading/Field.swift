import YAML

/// A value of the configuration and its place, to be read as one type or another.
///
/// A reading that fails reports the reason and returns nil.
struct Field {
    let node: YAMLNode
    /// The path as messages name it, such as `routes[0].attest.mode`; empty for the whole file.
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
        context.note(key.isEmpty ? node.mark : self.keyMark, of: path)
    }

    var mark: YAMLMark { node.mark }

    func error(_ message: String) { error(message, at: mark) }

    func error(_ message: String, at mark: YAMLMark) {
        context.error(path.isEmpty ? message : "\(path): \(message)", at: mark)
    }

    func warning(_ message: String) { context.warning("\(path): \(message)", at: mark) }

    /// Reports a value of another type. `ending`: a hint that tells what to write.
    func wrongType(expected: String, _ ending: String = "") {
        let found =
            switch node.kind {
            case .scalar("", isPlain: true): "nothing"
            // It may hold a password.
            case .scalar(let text, _) where text.contains("://"): "a URL"
            case .scalar(let text, _): "the text \(quoted(text))"
            case .sequence: "a list"
            case .mapping: "a mapping"
            }
        error("expected \(expected), found \(found)\(ending)")
    }

    var isMapping: Bool { node.isMapping }

    /// True if the value is this word, with `${…}` replaced.
    func isScalar(_ word: String) -> Bool {
        guard case .scalar(let raw, _) = node.kind else { return false }
        return (try? context.substitution.expand(raw).text) == word
    }

    /// The value of `key`, if it is a mapping with it.
    func node(_ key: String) -> YAMLNode? {
        guard case .mapping(let entries) = node.kind else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// True if `key`, which stands beside this one, has a value that is not of its kind.
    func isFaulty(beside key: String) -> Bool {
        let whole = path[..<(path.lastIndex(of: ".") ?? path.startIndex)]
        return context.isFaulty("\(whole).\(key)")
    }

    /// The elements of a list, each with the shape `element`. `key`: the key that a value in place
    /// of an element is meant for.
    func list(of element: @autoclosure () -> Shape, meant key: String? = nil) -> [Field]? {
        guard case .sequence(let elements) = node.kind else {
            wrongType(
                expected: "a list",
                isMapping
                    ? ": begin each of its entries with \"- \""
                    : meantForm(.list(element()), for: key))
            return nil
        }
        return elements.enumerated().map { index, element in
            Field(node: element, path: "\(path)[\(index)]", context: context)
        }
    }

    /// A text that is not empty, with `${…}` replaced. `take` is as in
    /// ``Substitution/expand(_:take:)``.
    func text(
        take: (String) throws(Fault) -> String = { text throws(Fault) in text }
    ) -> SettingText? {
        guard case .scalar(let raw, _) = node.kind else {
            wrongType(expected: "a single value")
            return nil
        }
        do {
            let outcome = try context.substitution.expand(raw, take: take)
            guard !outcome.text.isEmpty else {
                error(raw.isEmpty ? "has no value" : "is empty once ${…} is replaced")
                return nil
            }
            return SettingText(
                value: outcome.text, shown: quoted(outcome.usesFile ? raw : outcome.text),
                isSubstituted: outcome.text != raw, source: raw, files: outcome.files)
        } catch {
            self.error(error.message)
            return nil
        }
    }

    /// The result of `parse` for the text; nil, with a report, if it throws.
    func parse<Value>(_ parse: (String) throws(Fault) -> Value) -> Value? {
        text().flatMap { self.parse($0, parse) }
    }

    /// The result of `parse` for a text of this field; nil, with a report, if it throws.
    func parse<Value>(
        _ text: SettingText, _ parse: (String) throws(Fault) -> Value
    ) -> Value? {
        value(text, parse) { Self.mayHoldPassword($0.value) ? "the text" : $0.shown }
    }

    /// The result of `parse` for a URL. Messages do not show it, because it may hold a password.
    func url<URL>(_ parse: (String) throws(Fault) -> URL) -> URL? {
        text().flatMap { value($0, parse) { _ in "the URL" } }
    }

    private func value<Value>(
        _ text: SettingText, _ parse: (String) throws(Fault) -> Value,
        shown: (SettingText) -> String
    ) -> Value? {
        do throws(Fault) {
            return try parse(text.value)
        } catch {
            self.error("\(shown(text)) \(error.message)")
            return nil
        }
    }

    /// True if there is a colon before an `@`, other than that of a scheme: `user:password@host`.
    static func mayHoldPassword(_ text: String) -> Bool {
        guard let at = text.lastIndex(of: "@") else { return false }
        let start = text.firstRange(of: "://").map(\.upperBound) ?? text.startIndex
        return start < at && text[start..<at].contains(":")
    }

    /// One of `names`; `message` makes the report about another. Any name passes if there are none.
    func name(among names: [String], _ message: (String) -> String) -> String? {
        guard let text = text() else { return nil }
        if names.isEmpty || names.contains(text.value) { return text.value }
        error(message(text.shown) + Suggestion.ending(for: text.value, among: names, listing: true))
        return nil
    }

    /// The path of a file or directory, from the directory of the configuration on.
    func filePath() -> String? { pathAsGiven().map(context.files.path) }

    /// The path of a file or directory, as the configuration gives it.
    func pathAsGiven() -> String? {
        parse { text throws(Fault) in
            if !text.utf8.contains(where: \.isControl) { return text }
            throw Fault("is not a path: it holds a control character")
        }
    }

    /// One of a closed set of words. `meanings`: other words that are often used for one of them.
    func choice<Value>(
        _ choices: [(name: String, value: Value)], meanings: [String: String] = [:]
    ) -> Value? {
        guard let text = text() else { return nil }
        if let found = choices.first(where: { $0.name == text.value }) { return found.value }
        let names = choices.map(\.name)
        let ending =
            meanings[text.value.lowercased()].map { ": did you mean \(quoted($0))?" }
            ?? Suggestion.ending(for: text.value, among: names, listing: false)
        error("\(text.shown) is not one of \(names.joined(separator: ", "))\(ending)")
        return nil
    }

    func choice<Value: RawRepresentable & CaseIterable>(
        _ type: Value.Type, meanings: [String: Value] = [:]
    ) -> Value? where Value.RawValue == String {
        choice(
            type.allCases.map { ($0.rawValue, $0) }, meanings: meanings.mapValues(\.rawValue))
    }
}

extension YAMLNode {
    var isMapping: Bool { if case .mapping = kind { true } else { false } }
    /// True if the key has no value.
    var isNothing: Bool { kind == .scalar("", isPlain: true) }
}

/// A value after substitution, and how a message may show it.
struct SettingText {
    let value: String
    let shown: String
    /// True if a part came from the environment or a file.
    let isSubstituted: Bool
    /// The value as the configuration writes it.
    let source: String
    /// The paths of the files whose texts are parts of the value.
    let files: [String]
}

/// The text in quotes, cut to 60 characters and kept on one line.
func quoted(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars.prefix(60) {
        shown.unicodeScalars.append(
            scalar.properties.generalCategory == .control || scalar == "\u{2028}"
                ? "\u{FFFD}" : scalar)
    }
    return "\"\(shown)\(text.unicodeScalars.count > 60 ? "…" : "")\""
}
