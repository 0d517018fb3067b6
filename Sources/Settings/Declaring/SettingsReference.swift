/// The declarations as a page for operators, in Markdown.
public enum SettingsReference {
    private static let columnCountMax = 118

    public static var text: String {
        let entries = SettingsReader(processorCount: 1).form.entries
        return introduction
            + entries.map { entry in
                "\n## \(entry.key)\n\n" + (guides[entry.key].map { "See \($0).\n\n" } ?? "")
                    + item(entry.key, entry) + items(below: entry.key, entry.shape).joined()
            }.joined()
    }

    private static let introduction = """
        # Settings

        Every key of the configuration with its default, its range, and the reason for the range.
        This page is made from the program's declarations by
        `sallyport schema --reference > docs/settings.md`. From the same declarations come
        [conf/sallyport.yaml](../conf/sallyport.yaml), which shows the keys in a file, and
        [conf/sallyport.schema.json](../conf/sallyport.schema.json), with which editors complete
        and check a file.

        ## How the file is read

        - Unknown keys and duplicate keys are errors, and so is a number without its unit.
          Durations: `250ms`, `30s`, `5m`, `24h`, `30d`. Sizes: `512B`, `64KiB`, `1MiB`, `2GiB`.
          Shares: `25%`.
        - The file is one YAML document of at most 1 MiB, without anchors, aliases, tags and merge
          keys.
        - Inside a value, `${VAR}` is an environment variable, and an error if it is not set.
          `${VAR:-text}` is the same, or `text` if the variable is unset or empty. `${file:/path}`
          is the text of a file without its last line feed. `$${` is a literal `${`. Quote such a
          value inside `{ }` or `[ ]`, where YAML would take its braces for a mapping.
        - File names are relative to the directory of the configuration, in `${file:...}` too.
        - `SIGHUP` loads the file again. If it has an error, the settings in use stay.
          [Reload](operations/run.md#reload) says which settings need a restart.
        - `sallyport check -c FILE` reports all errors at once, with their places, and with
          `--print` prints the file with every default.

        A key without a default may be left out unless it is required. In a path, `[]` stands for
        an element of a list, and a word in capitals for a name of your choice.

        """

    /// Where the operator's pages explain a section.
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

    /// The items of what stands below a key.
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
        if let summary = entry.shape.summary { facts.append(summary) }
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
    /// In words; behind bounds stands the reason for them. Nil for a section, whose keys follow.
    var summary: String? {
        switch self {
        case .number(let range, let reason):
            "\(range.lowerBound) to \(range.upperBound): \(reason)"
        case .quantity(let form, let range, let reason):
            "\(form.noun), \(Quantity.describe(range.lowerBound, form.units)) to "
                + "\(Quantity.describe(range.upperBound, form.units)): \(reason)"
        case .words(let words): words.map { "`\($0)`" }.joined(separator: ", ")
        case .text(let text, _): text
        case .list(let element): element.summary.map { "list: \($0)" } ?? "list"
        case .section: nil
        case .named(_, let value): value.summary.map { "mapping: \($0)" } ?? "mapping"
        case .either(let shapes):
            // Two mappings differ by what is in them, which their own lines say.
            shapes.map { $0.summary ?? "a mapping" }.reduce(into: []) { words, word in
                if !words.contains(word) { words.append(word) }
            }.joined(separator: "; or ")
        case .like(let path, _): "as `\(path)`"
        }
    }
}
