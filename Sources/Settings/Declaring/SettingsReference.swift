/// The declarations as a page for operators, in Markdown.
public enum SettingsReference {
    private static let columnCountMax = 118

    public static var text: String {
        let entries = SettingsReader(processorCount: 1).form.entries
        return introduction
            + entries.map { entry in
                "\n## \(entry.key)\n\n" + item(entry.key, entry)
                    + items(below: entry.key, entry.shape).joined()
            }.joined()
    }

    private static let introduction = """
        # Settings

        Every key of the configuration, made from the program's own declarations by
        `sallyport schema --reference > docs/settings.md`.
        [conf/sallyport.yaml](../conf/sallyport.yaml) shows the same keys in a file, with longer
        explanations, and `conf/sallyport.schema.json` tells them to editors.

        A duration is written `250ms`, `30s`, `5m`, `24h` or `30d`, a size `512B`, `64KiB`, `1MiB`
        or `2GiB`, a share `25%`. Behind the bounds of a value stands why it has them. What has no
        default may be left out unless it is required.

        """

    /// What stands below a key.
    private static func items(below path: String, _ shape: Shape) -> [String] {
        shape.sections.flatMap { infix, entries in
            entries.flatMap { entry in
                [item(path + infix + entry.key, entry)]
                    + items(below: path + infix + entry.key, entry.shape)
            }
        }
    }

    private static func item(_ path: String, _ entry: Entry) -> String {
        var value = entry.shape.summary
        if entry.isRequired {
            value += "; required"
        } else if let standard = entry.standard {
            let isShort = standard.count <= 80
            value += isShort ? "; default `\(standard)`" : "; default: see `check --print`"
        }
        return wrapped("-", "`\(path)`: \(value).") + wrapped(" ", entry.about)
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
    /// In words; behind bounds stands the reason for them.
    var summary: String {
        switch self {
        case .number(let range, let reason):
            "\(range.lowerBound) to \(range.upperBound): \(reason)"
        case .quantity(let form, let range, let reason):
            "\(form.noun), \(Quantity.describe(range.lowerBound, form.units)) to "
                + "\(Quantity.describe(range.upperBound, form.units)): \(reason)"
        case .words(let words): words.map { "`\($0)`" }.joined(separator: ", ")
        case .text(let text, _): text
        case .list(let element): "list: \(element.summary)"
        case .section: "section"
        case .named(_, let value): "mapping: \(value.summary)"
        case .either(let shapes): shapes.map(\.summary).joined(separator: "; or ")
        }
    }
}
