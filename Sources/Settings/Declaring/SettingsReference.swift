/// The declarations as a page for operators, in Markdown.
public enum SettingsReference {
    private static let columnCountMax = 118
    /// The number of characters from which on a link is shorter than a repetition.
    private static let lengthMin = 80

    public static var text: String {
        var text = introduction
        var places: [String: String] = [:]
        for entry in SettingsReader(processorCount: 1).form.entries {
            text += "\n## \(entry.key)\n\n" + (guides[entry.key].map { "See \($0).\n\n" } ?? "")
            text += items(entry.key, entry, &places)
        }
        return text
    }

    private static let introduction = """
        # Settings

        Every key of the configuration with its values and its default, made from the program's
        declarations by `sallyport schema --reference > docs/settings.md`.
        [conf/sallyport.yaml](../conf/sallyport.yaml) shows the keys in a file, with the reasons
        for their bounds. Editors complete and check a file by
        [conf/sallyport.schema.json](../conf/sallyport.schema.json).

        ## How the file is read

        - Unknown keys, duplicate keys and a number without its unit are errors. Durations:
          `250ms`, `30s`, `5m`, `24h`, `30d`. Sizes: `512B`, `64KiB`, `1MiB`, `2GiB`. Shares:
          `25%`.
        - The file is one YAML document of at most 1 MiB, without anchors, aliases, tags and merge
          keys.
        - In a value, `${VAR}` is an environment variable, and an error if it is not set;
          `${VAR:-text}` is `text` if it is unset or empty. `${file:/path}` is the text of a file
          without its last line feed. `$${` is a literal `${`. Quote such a value inside `{ }` or
          `[ ]`.
        - File names are relative to the directory of the configuration.
        - `SIGHUP` loads the file again. If it has an error, the settings in use stay.
          [Reload](operations/run.md#reload) says which settings need a restart.
        - `sallyport check -c FILE` reports all errors at once, and with `--print` prints the file
          with every default.

        In a path, `[]` stands for an element of a list, and a word in capitals for a name of your
        choice.

        """

    /// Links to the operator's pages that explain a section.
    private static let guides = [
        "rate_limits": "[Rate limits](operations/traffic.md#rate-limits)",
        "forwarded": "[Forwarding headers](operations/traffic.md#forwarding-headers)",
        "listeners": "[Who the client is](operations/traffic.md#who-the-client-is) and "
            + "[TLS](operations/traffic.md#tls)",
        "apple": "[Apple's services](operations/apple.md)",
        "device_check": "[Apple's services](operations/apple.md)",
        "registry": "[Stores](operations/stores.md)",
        "counters": "[Redis](operations/stores.md#redis)",
        "receipts": "[Apple's services](operations/apple.md)",
        "signals": "[Abuse signals](operations/signals.md)",
        "secrets": "[Challenge keys](operations/keys.md#challenge-keys) and "
            + "[pseudonyms](operations/keys.md#pseudonyms)",
        "identity": "[Identity tokens](operations/keys.md#identity-tokens)",
        "upstreams": "[Upstream servers](operations/traffic.md#upstream-servers)",
        "routes": "[Which route a request takes](request-path.md#which-route-a-request-takes),\n"
            + "[what a route changes](request-path.md#what-a-route-changes),\n"
            + "[no way around a stricter route]"
            + "(request-path.md#no-way-around-a-stricter-route) and\n"
            + "[the steps of a rollout](operations/roll-out.md)",
        "admin": "[The admin listener](operations/observe.md#the-admin-listener)",
        "otlp": "[OpenTelemetry](operations/observe.md#opentelemetry)",
        "capture": "[Capture](operations/observe.md#capture)",
        "limits": "[What happens at each bound](operations/run.md#what-happens-at-each-bound)",
    ]

    /// The item of a key and those of the keys below it. If an earlier key says the same at some
    /// length, the item refers to it; a key that stands in both forms of a section comes once.
    private static func items(
        _ path: String, _ entry: Entry, _ places: inout [String: String]
    ) -> String {
        let words = item("", entry) + items(below: "", entry.shape).joined()
        if let place = places[words] {
            if place == path { return "" }
            if words.count > lengthMin { return wrapped("-", "`\(path)`: as `\(place)`.") }
        } else {
            places[words] = path
        }
        var text = item(path, entry)
        for (infix, entries) in entry.shape.sections {
            for below in entries { text += items(path + infix + below.key, below, &places) }
        }
        return text
    }

    /// The items of the keys below one.
    private static func items(below path: String, _ shape: Shape) -> [String] {
        shape.sections.flatMap { infix, entries in
            entries.flatMap { entry in
                [item(path + infix + entry.key, entry)]
                    + items(below: path + infix + entry.key, entry.shape)
            }
        }
    }

    private static func item(_ path: String, _ entry: Entry) -> String {
        if case .like(let other, _) = entry.shape {
            return wrapped("-", "`\(path)`: as `\(other)`.")
        }
        var facts: [String] = []
        if let values = entry.shape.words(reasons: false) { facts.append(values) }
        if entry.isRequired {
            facts.append("required")
        } else if let standard = entry.standard {
            let isShort = standard.count <= 80
            facts.append(isShort ? "default `\(standard)`" : "default: see `check --print`")
        }
        let ending = facts.isEmpty ? "" : ": " + facts.joined(separator: "; ")
        return wrapped("-", "`\(path)`\(ending).") + wrapped(" ", entry.about)
    }

    private static func wrapped(_ start: String, _ text: String) -> String {
        var lines = [start]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].count + word.count > columnCountMax { lines.append(" ") }
            lines[lines.count - 1] += " \(word)"
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension Shape {
    /// The shape in words, with the reason for bounds. Nil for a section, whose keys follow.
    var summary: String? { words(reasons: true) }

    /// The shape in words. `reasons`: true if the reasons for bounds are added.
    func words(reasons: Bool) -> String? {
        switch self {
        case .number(let range, let reason):
            return "\(range.lowerBound) to \(range.upperBound)" + (reasons ? ": \(reason)" : "")
        case .quantity(let form, let range, let reason):
            let bounds =
                "\(Quantity.describe(range.lowerBound, form.units)) to "
                + "\(Quantity.describe(range.upperBound, form.units))"
            return reasons ? "\(form.noun), \(bounds): \(reason)" : bounds
        case .words(let words): return words.map { "`\($0)`" }.joined(separator: ", ")
        case .text(let text, _): return text
        case .list(let element):
            return element.words(reasons: reasons).map { "list: \($0)" } ?? "list"
        case .section: return nil
        case .named(_, let value):
            return value.words(reasons: reasons).map { "mapping: \($0)" } ?? "mapping"
        case .either(let shapes):
            // Two mappings differ by what is in them, which their own lines say.
            return shapes.map { $0.words(reasons: reasons) ?? "a mapping" }
                .reduce(into: []) { words, word in
                    if !words.contains(word) { words.append(word) }
                }.joined(separator: "; or ")
        case .like(let path, _): return "as `\(path)`"
        }
    }
}
