/// The declarations as a configuration in YAML, with a comment that explains each setting.
///
/// A key with a default is set to it. A key without one is shown with the value of ``Example``: as
/// a comment, unless the file needs it.
public enum SettingsExample {
    private static let columnCountMax = 100

    public static var text: String {
        let entries = SettingsReader(processorCount: 1).form.entries
        let rule = "\n# " + String(repeating: "-", count: columnCountMax - 4) + "\n"
        return introduction
            + entries.map { entry in
                rule + lines(entry, entry.key, Room()).map { "\($0)\n" }.joined()
            }.joined()
    }

    private static let introduction = """
        # yaml-language-server: $schema=sallyport.schema.json
        #
        # Every setting of Sallyport with its default, its range and the reason for it, made from
        # the program's declarations by `sallyport schema --example > conf/sallyport.yaml`.
        #
        #   sallyport check -c FILE           all errors at once, with their places
        #   sallyport check -c FILE --print   the same file as the gateway understands it
        #
        # The rules of this file
        #   - Unknown keys and duplicate keys are errors, and so is a number without its unit.
        #     Durations: 250ms, 30s, 5m, 24h, 30d.   Sizes: 512B, 64KiB, 1MiB, 2GiB.   Shares: 25%.
        #   - YAML without anchors, aliases, tags and merge keys; one document; at most 1 MiB.
        #   - Inside a value, not inside a key:
        #       ${VAR}           an environment variable; an error if it is not set
        #       ${VAR:-text}     the same, or text if it is unset or empty
        #       ${file:/path}    the text of a file, without its last line feed
        #       $${              a literal ${
        #     Quote such a value inside { } or [ ], where YAML would take its braces for a mapping.
        #   - File names are relative to the directory of this file.
        #   - SIGHUP loads the file again. If it has an error, the settings in use stay.
        #
        # A value below is the default unless its comment calls it an example. A key that stands
        # further in behind a # is off: remove the # and the three spaces to set it.

        """

    /// A key with its comment, from the first column on.
    private static func lines(_ entry: Entry, _ path: String, _ room: Room) -> [String] {
        let example = Example.value(path)
        if case .like = entry.shape, Example.values[path] == nil { return [] }
        // A list without elements says less than an element.
        let isList = entry.standard == "[]" && !entry.shape.sections.isEmpty
        let standard = isList ? nil : entry.standard
        // If a key has two forms and one is a mapping, the value has the other form.
        let value =
            if case .section = entry.shape { nil as String? } else {
                example?.value ?? standard
            }
        let isOn = example?.isNeeded ?? (value != nil || entry.isPrinted)
        let isMappingOn = isOn && value == nil
        let note = !room.isOff && isOn && value != standard ? " Example." : ""
        var lines = comment(entry.about + bounds(entry) + note, room.columnCount)
        if let value {
            let line = "\(entry.key): \(value)"
            lines += isOn ? [line] : off([line])
        }
        let blocks = blocks(entry.key, entry.shape, path, isMappingOn ? room : room.off)
        for (index, block) in blocks.enumerated() {
            if value != nil || index > 0 { lines.append("# Or:") }
            lines += isMappingOn ? block : off(block)
        }
        return lines
    }

    /// The room for lines: their width, and whether they are comments.
    private struct Room {
        var columnCount = SettingsExample.columnCountMax
        /// True if the lines are comments.
        var isOff = false

        var off: Room { Room(columnCount: columnCount - 4, isOff: true) }
        func indented(_ count: Int) -> Room { Room(columnCount: columnCount - count, isOff: isOff) }
    }

    /// The ways to write a key with a mapping below it.
    private static func blocks(
        _ key: String, _ shape: Shape, _ path: String, _ room: Room
    ) -> [[String]] {
        switch shape {
        case .section(let entries):
            return [["\(key):"] + indented(section(entries, path, room.indented(2)), "  ")]
        case .list(let element):
            return element.sections.map { _, entries in
                let lines = section(entries, path + "[]", room.indented(4))
                return ["\(key):"] + indented(withDash(indented(lines, "  ")), "  ")
            }
        case .named(let word, let value):
            return value.sections.map { _, entries in
                let name = Example.names[path] ?? word
                let lines = section(entries, "\(path).\(word)", room.indented(4))
                return ["\(key):", "  \(name):"] + indented(lines, "    ")
            }
        case .either(let shapes):
            return shapes.flatMap { shape in
                // The words of the key explain a single key below it.
                if case .section(let entries) = shape, entries.count == 1,
                    entries[0].shape.sections.isEmpty,
                    let value = Example.value("\(path).\(entries[0].key)")?.value
                {
                    return [["\(key): { \(entries[0].key): \(value) }"]]
                }
                return blocks(key, shape, path, room)
            }
        case .number, .quantity, .words, .text, .like: return []
        }
    }

    /// Keys, with an empty line around those that are mappings.
    private static func section(_ entries: [Entry], _ path: String, _ room: Room) -> [String] {
        var all: [String] = []
        var wasLong = false
        for entry in entries {
            let lines = lines(entry, "\(path).\(entry.key)", room)
            if lines.isEmpty { continue }
            let isLong = entry.shape.sections.contains { $0.entries.count > 1 }
            if !all.isEmpty, isLong || wasLong { all.append("") }
            all += lines
            wasLong = isLong
        }
        return all
    }

    /// The dash of a list's element stands before its first key.
    private static func withDash(_ lines: [String]) -> [String] {
        var lines = lines
        if let index = lines.firstIndex(where: { $0.drop { $0 == " " }.first?.isLetter == true }) {
            lines[index] = "- " + lines[index].dropFirst(2)
        }
        return lines
    }

    private static func indented(_ lines: [String], _ space: String) -> [String] {
        lines.map { $0.isEmpty ? "" : space + $0 }
    }

    private static func off(_ lines: [String]) -> [String] {
        lines.map { $0.isEmpty ? "#" : "#   \($0)" }
    }

    private static func comment(_ text: String, _ columnCount: Int) -> [String] {
        var lines = ["#"]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].count + word.count >= columnCount { lines.append("#") }
            lines[lines.count - 1] += " \(word)"
        }
        return lines
    }

    /// A sentence about the allowed values, unless the setting's description has it.
    private static func bounds(_ entry: Entry) -> String {
        let text = bounds(entry.shape, entry.about)
        let form = if case .text = entry.shape, !text.isEmpty { " Form:" } else { "" }
        let values = text.isEmpty ? "" : "\(form) \(text)."
        return values + (entry.isRequired ? " Required." : "")
    }

    private static func bounds(_ shape: Shape, _ about: String) -> String {
        switch shape {
        case .number, .quantity: return shape.summary.map(withoutNoun) ?? ""
        case .words(let words):
            if words.allSatisfy(about.contains) { return "" }
            return words.count < 3
                ? words.joined(separator: " or ")
                : words.dropLast().joined(separator: ", ") + " or " + words[words.count - 1]
        case .text(let form, _): return form.split(separator: " ").count > 2 ? form : ""
        case .list(let element):
            let text = bounds(element, about)
            return text.isEmpty ? "" : "A list: \(text)"
        case .either(let shapes):
            let texts = shapes.map { shape in
                if case .list = shape { return "a list" }
                return shape.sections.isEmpty ? bounds(shape, about) : "a mapping"
            }.filter { !$0.isEmpty }
            let isSaid = texts.allSatisfy { $0 == "a mapping" }
            return isSaid ? "" : texts.joined(separator: ", or ")
        case .section, .named: return ""
        case .like(let path, _): return "The keys are those of \(path)"
        }
    }

    /// `duration, 1s to 1h` without the first word: the values show what they are.
    private static func withoutNoun(_ summary: String) -> String {
        guard let comma = summary.firstRange(of: ", "),
            !summary[..<comma.lowerBound].contains(" to ")
        else { return summary }
        return String(summary[comma.upperBound...])
    }
}

extension SettingsExample {
    /// The paths of the keys whose values are examples.
    package static var examplePaths: [String] {
        Example.values.keys.sorted() + Example.names.keys.sorted()
    }
}
