import YAML

/// A mapping with fixed keys. A key that was not asked for by the end is reported as unknown.
struct Section {
    /// The mapping itself.
    let place: Field
    private var entries: [String: YAMLEntry] = [:]
    private var asked: [String] = []
    /// False if a required key is missing, or its value is of a wrong kind.
    private(set) var isGood = true

    fileprivate init(_ field: Field, _ entries: [YAMLEntry]) {
        place = field
        for entry in entries {
            if let first = self.entries[entry.key] {
                context.error(duplicateKey(entry, first), at: entry.keyMark)
            } else {
                self.entries[entry.key] = entry
            }
        }
    }

    var context: ReadingContext { place.context }

    /// Makes `keys` known, for messages in this order.
    mutating func expect(_ keys: [String]) {
        for key in keys where !asked.contains(key) { asked.append(key) }
    }

    /// The value of a key that may be absent.
    mutating func field(_ key: String) -> Field? {
        if !asked.contains(key) { asked.append(key) }
        guard let entry = entries[key] else { return nil }
        return Field(
            node: entry.value, path: below(key), context: context, keyMark: entry.keyMark)
    }

    private func below(_ key: String) -> String {
        place.path.isEmpty ? key : "\(place.path).\(key)"
    }

    /// The value of a required key. If it is missing, that is reported at the section.
    ///
    /// - Parameter advice: The end of that report, such as another key that may be meant.
    mutating func required(_ key: String, advice: String = "") -> Field? {
        if let field = field(key) { return field }
        error("required key \"\(key)\" is missing\(advice)")
        isGood = false
        context.noteFault(of: below(key))
        return nil
    }

    /// The value of a key that has been read, if it is there and good.
    mutating func good(_ key: String) -> Field? { isFaulty(key) ? nil : field(key) }

    /// The value of a key and its place; nil if it is missing or `read` finds a fault.
    mutating func value<Value>(
        _ key: String, _ isRequired: Bool, _ read: (Field) -> Value?
    ) -> (Field, Value)? {
        guard let field = isRequired ? required(key) : field(key) else { return nil }
        if let value = read(field) { return (field, value) }
        if isRequired { isGood = false }
        context.noteFault(of: field.path)
        return nil
    }

    /// True if a required key is missing, or its value is of a wrong kind.
    func isFaulty(_ key: String) -> Bool { context.isFaulty(below(key)) }

    /// Discards the section. The caller has reported the reason.
    mutating func fail() { isGood = false }

    func error(_ message: String) { place.error(message) }

    func warning(_ message: String) { place.warning(message) }

    /// Reports the keys that are there but have no use.
    mutating func refuse(_ keys: [String], _ message: String) {
        for key in keys {
            guard let field = field(key) else { continue }
            field.error(message, at: field.keyMark)
        }
    }

    fileprivate func reportUnknownKeys() {
        for (key, entry) in entries where !asked.contains(key) {
            let place = place.path.isEmpty ? "" : " in \(place.path)"
            if entry.value.isNothing, let known = Suggestion.keyWithoutSpace(in: key, among: asked)
            {
                // The text behind the colon may be a password.
                context.error(
                    "unknown key \"\(known):…\"\(place): \(Suggestion.space(after: known))",
                    at: entry.keyMark)
                continue
            }
            let ending = Suggestion.ending(for: key, among: asked, listing: true)
            context.error("unknown key \(quoted(key))\(place)\(ending)", at: entry.keyMark)
        }
    }
}

extension Field {
    /// Reads a mapping with fixed keys, of that shape; nil if the value is none. `key`: the one
    /// that a value which stands there alone was meant for.
    func section<Value>(
        _ shape: @autoclosure () -> Shape, meant key: String? = nil,
        _ read: (inout Section) -> Value
    ) -> Value? {
        guard let entries = mapping(shape(), meant: key) else { return nil }
        var section = Section(self, entries)
        let value = read(&section)
        section.reportUnknownKeys()
        return value
    }

    /// Reads a mapping whose keys the operator chooses; `word` stands for one of them in messages.
    func namedFields(_ word: String, of value: @autoclosure () -> Shape) -> [Field]? {
        guard let entries = mapping(.named(word, value())) else { return nil }
        var fields: [Field] = []
        var taken: [String: YAMLEntry] = [:]
        for entry in entries {
            if let first = taken[entry.key] {
                context.error(duplicateKey(entry, first), at: entry.keyMark)
                continue
            }
            taken[entry.key] = entry
            if entry.value.isNothing, let colon = entry.key.firstIndex(of: ":") {
                let name = String(entry.key[..<colon])
                context.error("\(path): \(Suggestion.space(after: name))", at: entry.keyMark)
                continue
            }
            let path = path.isEmpty ? entry.key : "\(path).\(entry.key)"
            fields.append(
                Field(
                    node: entry.value, path: path, context: context, keyMark: entry.keyMark,
                    key: entry.key))
        }
        return fields
    }

    private func mapping(
        _ shape: @autoclosure () -> Shape, meant key: String? = nil
    ) -> [YAMLEntry]? {
        if case .mapping(let entries) = node.kind { return entries }
        wrongType(expected: "a mapping", meantForm(shape(), for: key))
        return nil
    }
}

private func duplicateKey(_ entry: YAMLEntry, _ first: YAMLEntry) -> String {
    "duplicate key \(quoted(entry.key)): "
        + "first given at \(first.keyMark.line):\(first.keyMark.column)"
}
