/// Writes block YAML: mappings by indentation, lists of scalars in brackets.
struct YAMLText {
    private(set) var text = ""
    private var depth = 0
    /// A list element's first key stands behind its dash.
    private var pendingDash = false

    mutating func comment(_ line: String) { text += "# \(line)\n" }

    /// `key: value`, the value as it is: numbers, words, and what ``scalar(_:)`` made.
    mutating func entry(_ key: String, _ value: String) {
        startLine()
        text += "\(key): \(value)\n"
    }

    mutating func entry(_ key: String, text value: String) { entry(key, Self.scalar(value)) }

    mutating func entry(_ key: String, list values: [String]) {
        entry(key, "[\(values.map(Self.scalar).joined(separator: ", "))]")
    }

    mutating func mapping(_ key: String, _ body: (inout YAMLText) -> Void) {
        startLine()
        text += "\(key):\n"
        depth += 1
        body(&self)
        depth -= 1
    }

    /// `key:` and a mapping for each element.
    mutating func list<Element>(
        _ key: String, _ elements: [Element], _ body: (inout YAMLText, Element) -> Void
    ) {
        guard !elements.isEmpty else { return entry(key, "[]") }
        startLine()
        text += "\(key):\n"
        depth += 2
        for element in elements {
            pendingDash = true
            body(&self, element)
        }
        pendingDash = false
        depth -= 2
    }

    private mutating func startLine() {
        if pendingDash {
            text += String(repeating: "  ", count: depth - 1) + "- "
            pendingDash = false
        } else {
            text += String(repeating: "  ", count: depth)
        }
    }

    /// A text that reads back the same, with `${` kept from being replaced.
    static func scalar(_ value: String) -> String {
        let value = value.replacing("${", with: "$${")
        let isPlain =
            value.utf8.first.map { isWord($0) || $0 == 0x2F } ?? false
            && value.utf8.allSatisfy { isWord($0) || [0x2D, 0x2E, 0x2F, 0x25].contains($0) }
        if isPlain { return value }
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

    private static func isWord(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
            || byte == 0x5F
    }
}
