import YAML

/// A configuration without errors.
public struct LoadedSettings: Sendable {
    public let settings: Settings
    /// What the operator should know before relying on it.
    public let warnings: [ConfigurationProblem]
}

/// A file that could not be read, in words for the operator.
public struct FileReadFailure: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Turns the operator's YAML into ``Settings``, or into everything that is wrong with it.
///
/// One bad value never hides another: all problems come at once, each with its place. Nothing is
/// read from the machine but through the closures.
public struct SettingsLoader {
    /// The whole of a small file; the reader sets a bound of its own.
    public typealias FileReader = (_ path: String) -> Result<[UInt8], FileReadFailure>

    private let processorCount: Int
    private let environment: (String) -> String?
    private let readFile: FileReader

    /// - Parameters:
    ///   - processorCount: the number that `workers: auto` stands for.
    ///   - environment: what `${VAR}` stands for.
    ///   - fileReader: for the configuration itself, `${file:PATH}` and `trust.extra_roots`.
    public init(
        processorCount: Int, environment: @escaping (String) -> String?,
        fileReader: @escaping FileReader
    ) {
        self.processorCount = processorCount
        self.environment = environment
        readFile = fileReader
    }

    public func load(path: String) -> Result<LoadedSettings, ConfigurationProblems> {
        switch readFile(path) {
        case .success(let text): return load(text: text, fileName: path)
        case .failure(let failure):
            let problem = ConfigurationProblem(
                file: path, line: 0, column: 0, message: "cannot be read: \(failure)")
            return .failure(ConfigurationProblems([problem]))
        }
    }

    public func load(
        text: [UInt8], fileName: String
    ) -> Result<LoadedSettings, ConfigurationProblems> {
        let root: YAMLNode
        do {
            root = try YAMLDocument.parse(text.span)
        } catch {
            let problem = ConfigurationProblem(
                file: fileName, line: error.mark.line, column: error.mark.column,
                message: error.message + hint(error, text))
            return .failure(ConfigurationProblems([problem]))
        }
        let context = ReadingContext(
            file: fileName,
            substitution: Substitution(environment: environment, readFile: readFile),
            readFile: readFile)
        let reader = SettingsReader(processorCount: processorCount)
        let settings = reader.read(Field(node: root, path: "", context: context))
        guard context.errors.isEmpty else {
            return .failure(ConfigurationProblems(context.errors.inOrderOfText))
        }
        return .success(
            LoadedSettings(settings: settings, warnings: context.warnings.inOrderOfText))
    }

    /// What `${VAR}` without quotes does inside `{ }` is hard to guess from the parser's words.
    private func hint(_ error: YAMLError, _ text: [UInt8]) -> String {
        guard case .syntax = error.reason else { return "" }
        let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
        guard lines.indices.contains(error.mark.line - 1) else { return "" }
        let line = String(decoding: lines[error.mark.line - 1], as: UTF8.self)
        return line.contains("${") ? "; inside { } and [ ] quote a value that holds ${…}" : ""
    }

    public func load(
        text: String, fileName: String
    ) -> Result<LoadedSettings, ConfigurationProblems> {
        load(text: Array(text.utf8), fileName: fileName)
    }
}

extension [ConfigurationProblem] {
    /// Problems of one place stay in the order in which they were found.
    fileprivate var inOrderOfText: [ConfigurationProblem] {
        enumerated().sorted { left, right in
            (left.element.line, left.element.column, left.offset)
                < (right.element.line, right.element.column, right.offset)
        }
        .map(\.element)
    }
}
