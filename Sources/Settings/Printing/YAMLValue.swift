/// A value in the form of the printed configuration.
indirect enum YAMLValue {
    /// No value: neither it nor its key is printed.
    case absent
    /// A scalar that is printed unchanged: a number, a word, or the result of ``text(_:)``.
    case scalar(String)
    case list([YAMLValue])
    case mapping([YAMLPair])

    /// A text that reads back the same, with `${` kept from being replaced.
    static func text(_ value: String) -> YAMLValue {
        let value = value.replacing("${", with: "$${")
        return .scalar(isPlain(value) ? value : quoted(value))
    }

    /// A text in quotes, in which `${` stands for a replacement.
    static func source(_ value: String) -> YAMLValue { .scalar(quoted(value)) }

    var isAbsent: Bool { if case .absent = self { true } else { false } }

    /// A scalar, or a list of scalars in brackets, that fits on the line of its key.
    var line: String? {
        switch self {
        case .scalar(let text): return text
        case .list(let elements):
            let lines = elements.compactMap(\.line)
            return lines.count == elements.count ? "[\(lines.joined(separator: ", "))]" : nil
        case .absent, .mapping: return nil
        }
    }

    /// The lines of block YAML: mappings by indentation.
    var lines: [String] {
        switch self {
        case .absent: []
        case .scalar(let text): [text]
        case .mapping(let entries): entries.flatMap(\.lines)
        case .list(let elements): elements.flatMap { $0.lines.indented(by: "- ") }
        }
    }

    private static func isPlain(_ value: String) -> Bool {
        value.utf8.first.map { $0.isLetterOrDigit || $0.isOne(of: "_/") } ?? false
            && value.utf8.allSatisfy { $0.isLetterOrDigit || $0.isOne(of: "_-./%") }
    }

    private static func quoted(_ value: String) -> String {
        var quoted = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case " "..."~": quoted.unicodeScalars.append(scalar)
            default:
                // Control characters and line separators would not survive, and a terminal cannot
                // be trusted with the others.
                let digits = String(scalar.value, radix: 16)
                quoted += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
            }
        }
        return quoted + "\""
    }
}

/// A key of a printed mapping and its value.
struct YAMLPair {
    let key: String
    let value: YAMLValue

    init(_ key: String, _ value: YAMLValue) {
        // A key that the operator chose may need quotes.
        self.key = YAMLValue.text(key).line ?? key
        self.value = value
    }

    var lines: [String] {
        if let line = value.line { return ["\(key): \(line)"] }
        return value.isAbsent ? [] : ["\(key):"] + value.lines.indented(by: "  ")
    }
}

extension [String] {
    /// The lines with `start` before the first one, and as many spaces before the others.
    fileprivate func indented(by start: String) -> [String] {
        let space = String(repeating: " ", count: start.count)
        return enumerated().map { index, line in (index == 0 ? start : space) + line }
    }
}
