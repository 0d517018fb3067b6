extension LogSettings {
    static var form: Form<LogSettings> {
        Form(LogSettings()) {
            Setting(
                "access", \.access, .destination,
                "Where one line for each request goes.")
            Setting(
                "format", \.format, .word,
                "The form of these lines. combined, as of Apache and nginx, and text, for people, "
                    + "have less in them.")
            Setting(
                "sample", \.samplePercent, .percent,
                "The share of passed requests that have a line. Refusals, failures and observed "
                    + "shortfalls always have one.")
            Setting(
                "events", \.events, .destination,
                "Where one JSON line for each event of the gateway goes.")
            Setting(
                "keys", \.keys, .word.checked(warn),
                "How lines name a key. pseudonym: by an HMAC of its id. prefix: by the first 12 "
                    + "characters of its id. off: not at all.")
        }
    }

    private static func warn(_ field: Field, _ naming: KeyNaming) {
        if naming == .prefix {
            field.warning("log lines identify keys by the beginning of their ids")
        }
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
        } yaml: { destination in
            if case .file(let path) = destination { return .text(path) }
            return .scalar(words.first { $0.value == destination }?.name ?? "")
        }
    }
}
