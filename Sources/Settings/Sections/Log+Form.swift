extension LogSettings {
    static var form: Form<LogSettings> {
        Form(LogSettings()) {
            Setting(
                "access", \.access, .destination,
                "Where one JSON line for each request goes.")
            Setting(
                "events", \.events, .destination,
                "Where one JSON line for each event of the gateway itself goes.")
            Setting(
                "keys", \.keys, .word.reading(naming),
                "How lines name a key. pseudonym: by an HMAC of its id, the same in all lines. "
                    + "prefix: by the first 12 characters of the id.")
        }
    }

    private static func naming(_ field: Field) -> KeyNaming? {
        let naming = field.choice(KeyNaming.self)
        if naming == .prefix {
            field.warning("log lines tell keys by the beginning of their ids")
        }
        return naming
    }
}

extension Kind where Value == LogSettings.Destination {
    fileprivate static var destination: Kind {
        let words: [(name: String, value: LogSettings.Destination)] = [
            ("off", .off), ("stdout", .standardOutput), ("stderr", .standardError),
        ]
        let names = words.map(\.name)
        return Kind(.either([.words(names), .text("path with a /", pattern: "/")])) { field in
            guard let text = field.text() else { return nil }
            // A slash tells a path from a mistyped word.
            if text.value.contains("/") { return field.filePath().map { .file(path: $0) } }
            if let word = words.first(where: { $0.name == text.value }) { return word.value }
            let ending = Suggestion.ending(for: text.value, among: names, listing: false)
            field.error("\(text.shown) is not off, stdout, stderr or a path with a /\(ending)")
            return nil
        } write: { key, destination, yaml in
            if case .file(let path) = destination { return yaml.entry(key, text: path) }
            yaml.entry(key, words.first { $0.value == destination }?.name ?? "")
        }
    }
}
