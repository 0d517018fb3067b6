/// A fault of a configuration, or a warning about a value that may be a mistake.
public struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    public var file: String
    /// 1 for the first line; 0 if the problem is with the file as a whole.
    public var line: Int
    /// 1 for the first character.
    public var column: Int
    /// The message. It never quotes a secret.
    public var message: String
    /// The line of the problem, with a mark below its place; nil if no line can be shown.
    public var excerpt: String?

    public init(file: String, line: Int, column: Int, message: String) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
    }

    /// The description and, below it, the excerpt.
    public var illustrated: String { description + (excerpt.map { "\n" + $0 } ?? "") }

    /// `file:line:column: message`, which editors and CI systems turn into links.
    public var description: String {
        line == 0 ? "\(file): \(message)" : "\(file):\(line):\(column): \(message)"
    }
}

/// Everything that is wrong with a configuration, in the order of the text.
public struct ConfigurationProblems: Error, Hashable, Sendable, CustomStringConvertible {
    public let problems: [ConfigurationProblem]

    public init(_ problems: [ConfigurationProblem]) { self.problems = problems }

    /// The problems, one a line.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}
