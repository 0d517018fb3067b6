/// Something that an operator should know of, and what to do about it.
struct StatusProblem {
    /// How urgent it is, the worst last.
    enum Level: Int, Comparable {
        case ok
        /// Requests are served; somebody should look.
        case warning
        /// Requests are refused, or pass that should not.
        case error

        var name: StaticString {
            switch self {
            case .ok: "ok"
            case .warning: "warning"
            case .error: "error"
            }
        }

        static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    let level: Level
    /// A word for programs that does not change.
    let name: StaticString
    /// A sentence: what is the matter.
    let text: String
    /// A sentence: what to do.
    let remedy: String

    init(_ level: Level, _ name: StaticString, _ text: String, _ remedy: String) {
        (self.level, self.name, self.text, self.remedy) = (level, name, text, remedy)
    }
}

/// All that is the matter, and the sentence that begins the status page.
struct StatusVerdict {
    /// The worst first.
    let problems: [StatusProblem]

    init(_ problems: [StatusProblem]) {
        // Of two that are as bad, the one that was found first: they are in the order of causes.
        self.problems = problems.enumerated()
            .sorted { ($1.element.level, $0.offset) < ($0.element.level, $1.offset) }
            .map(\.element)
    }

    var level: StatusProblem.Level { problems.first?.level ?? .ok }

    var sentence: String {
        guard let first = problems.first else { return "Everything is in order." }
        let others = problems.count - 1
        let rest =
            others == 0
            ? "" : " \(others) more \(others == 1 ? "thing needs" : "things need") attention."
        return "\(first.text) \(first.remedy)\(rest)"
    }
}
