import YAML

/// A mapping with fixed keys. What is not asked for by the end is an unknown key.
struct Section {
    let path: String
    let mark: YAMLMark
    private let context: ReadingContext
    private var entries: [String: YAMLEntry] = [:]
    private var asked: [String] = []

    fileprivate init(_ field: Field, _ entries: [YAMLEntry]) {
        path = field.path
        mark = field.mark
        context = field.context
        for entry in entries {
            if let first = self.entries[entry.key] {
                context.error(duplicateKey(entry, first), at: entry.keyMark)
            } else {
                self.entries[entry.key] = entry
            }
        }
    }

    /// The value of a key that may be absent.
    mutating func field(_ key: String) -> Field? {
        if !asked.contains(key) { asked.append(key) }
        guard let entry = entries[key] else { return nil }
        return Field(
            node: entry.value, path: path.isEmpty ? key : "\(path).\(key)", context: context,
            keyMark: entry.keyMark)
    }

    /// The value of a key that must be there; its absence is reported at the section.
    mutating func required(_ key: String) -> Field? {
        if let field = field(key) { return field }
        let place = path.isEmpty ? "" : "\(path): "
        context.error("\(place)required key \"\(key)\" is missing", at: mark)
        return nil
    }

    /// Sets `target` where the key is there and `read` finds it good; else it keeps its default.
    mutating func set<Value>(
        _ key: String, _ target: inout Value, _ read: (Field) -> Value?
    ) {
        guard let field = field(key), let value = read(field) else { return }
        target = value
    }

    /// Refuses a key that belongs to a later version, with words of its own.
    mutating func refuse(_ key: String, _ message: String) {
        guard let field = field(key) else { return }
        context.error("\(field.path): \(message)", at: field.keyMark)
    }

    func warning(_ message: String) { context.warning("\(path): \(message)", at: mark) }

    fileprivate func reportUnknownKeys() {
        for (key, entry) in entries where !asked.contains(key) {
            let place = path.isEmpty ? "" : " in \(path)"
            let ending = Suggestion.ending(for: key, among: asked, listing: true)
            context.error("unknown key \(quoted(key))\(place)\(ending)", at: entry.keyMark)
        }
    }
}

extension Field {
    /// Reads a mapping with fixed keys; nil where the value is none.
    func section<Value>(_ read: (inout Section) -> Value) -> Value? {
        guard let entries = mapping() else { return nil }
        var section = Section(self, entries)
        let value = read(&section)
        section.reportUnknownKeys()
        return value
    }

    /// Reads a mapping whose keys the operator chooses.
    func namedFields() -> [Field]? {
        guard let entries = mapping() else { return nil }
        var fields: [Field] = []
        var taken: [String: YAMLEntry] = [:]
        for entry in entries {
            if let first = taken[entry.key] {
                context.error(duplicateKey(entry, first), at: entry.keyMark)
                continue
            }
            taken[entry.key] = entry
            let path = path.isEmpty ? entry.key : "\(path).\(entry.key)"
            fields.append(
                Field(
                    node: entry.value, path: path, context: context, keyMark: entry.keyMark,
                    key: entry.key))
        }
        return fields
    }

    private func mapping() -> [YAMLEntry]? {
        guard case .mapping(let entries) = node.kind else {
            wrongType(expected: "a mapping")
            return nil
        }
        return entries
    }
}

private func duplicateKey(_ entry: YAMLEntry, _ first: YAMLEntry) -> String {
    "duplicate key \(quoted(entry.key)): "
        + "first given at \(first.keyMark.line):\(first.keyMark.column)"
}
