import EventLoop

/// Text for people at a terminal.
enum TerminalText {
    /// `text` on one line. Characters that could move the cursor, or change the order of letters,
    /// are shown as their code points.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
                .unassigned:
                escaped += "\\u{\(String(scalar.value, radix: 16))}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// True if text on that descriptor may have colours (https://no-color.org).
    static func hasColours(_ descriptor: Int32) -> Bool {
        let isUnwanted = HostSystem.environment("NO_COLOR").map { !$0.isEmpty } ?? false
        return !isUnwanted && !isDumb && Terminal.isTerminal(descriptor)
    }

    /// True if the terminal knows no control sequences.
    static var isDumb: Bool {
        ["", "dumb"].contains(HostSystem.environment("TERM") ?? "")
    }

    enum Colour: Int {
        case red = 31
        case green = 32
        case yellow = 33
    }

    static func coloured(_ text: String, _ colour: Colour, on descriptor: Int32) -> String {
        hasColours(descriptor) ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }
}
