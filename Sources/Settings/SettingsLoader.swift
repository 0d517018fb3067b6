import YAML

/// A configuration without errors.
public struct LoadedSettings: Sendable {
    public let settings: Settings
    /// The warnings, which the operator should read before relying on the configuration.
    public let warnings: [ConfigurationProblem]
    let file: String
    /// The places of the values in the configuration, by path.
    let marks: [String: YAMLMark]
    let source: SourceExcerpt

    /// A problem that a caller has found with the value of `path`, at the value's place. If the
    /// file leaves the value out, the problem has no place.
    public func problem(_ message: String, at path: String) -> ConfigurationProblem {
        let mark = marks[path]
        var problem = ConfigurationProblem(
            file: file, line: mark?.line ?? 0, column: mark?.column ?? 0,
            message: "\(path): \(message)")
        problem.excerpt = mark.flatMap { source.text(line: $0.line, column: $0.column) }
        return problem
    }
}

/// A file that could not be read, in words for the operator.
public struct FileReadFailure: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Turns the operator's YAML into ``Settings``, or into everything that is wrong with it.
///
/// One bad value never hides another: all problems are reported at once, each with its place. The
/// loader reads the machine only through the closures.
public struct SettingsLoader {
    /// Reads a whole small file. The closure sets a bound of its own.
    public typealias FileReader = (_ path: String) -> Result<[UInt8], FileReadFailure>

    private let processorCount: Int
    private let workingDirectory: String
    private let environment: (String) -> String?
    private let readFile: FileReader

    /// - Parameters:
    ///   - processorCount: the number that `workers: auto` stands for.
    ///   - workingDirectory: the directory that the configuration's path is relative to.
    ///   - environment: the values of `${VAR}`.
    ///   - fileReader: for the configuration itself, `${file:PATH}` and `trust.extra_roots`.
    public init(
        processorCount: Int, workingDirectory: String = "",
        environment: @escaping (String) -> String?, fileReader: @escaping FileReader
    ) {
        self.processorCount = processorCount
        self.workingDirectory = workingDirectory
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
            return .failure(ConfigurationProblems([problem].withExcerpts(of: text)))
        }
        let places = FilePlaces(of: fileName, workingDirectory: workingDirectory)
        let context = ReadingContext(
            file: fileName, files: places,
            substitution: Substitution(
                environment: environment, readFile: readFile, places: places),
            readFile: readFile)
        let reader = SettingsReader(processorCount: processorCount)
        let settings = reader.read(Field(node: root, path: "", context: context))
        guard context.errors.isEmpty else {
            return .failure(
                ConfigurationProblems(context.errors.inOrderOfText.withExcerpts(of: text)))
        }
        return .success(
            LoadedSettings(
                settings: settings,
                warnings: context.warnings.inOrderOfText.withExcerpts(of: text), file: fileName,
                marks: context.places, source: SourceExcerpt(text)))
    }

    /// A hint for `${VAR}` without quotes inside `{ }`, because the parser's message does not show
    /// the cause.
    private func hint(_ error: YAMLError, _ text: [UInt8]) -> String {
        guard case .syntax = error.reason else { return "" }
        let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
        guard lines.indices.contains(error.mark.line - 1) else { return "" }
        let line = String(decoding: lines[error.mark.line - 1], as: UTF8.self)
        if line.contains("${") { return "; inside { } and [ ] quote a value that holds ${…}" }
        if let key = keyWithoutSpace(lines[..<error.mark.line]) {
            return "; \(Suggestion.space(after: key))"
        }
        // A character with a meaning of its own at the beginning of a value, as in *.example.com.
        let before = line.prefix(error.mark.column)
        let sign = zip(" " + before, before).reversed().first { previous, sign in
            " [{,-".contains(previous) && "*&!@`%".contains(sign)
        }?.1
        return sign.map { "; quote a value that begins with \($0)" } ?? ""
    }

    /// The last key in these lines, if its colon has no space behind it. YAML then takes the line
    /// for a text, and reports a fault in a later line.
    private func keyWithoutSpace(_ lines: ArraySlice<ArraySlice<UInt8>>) -> String? {
        let keys = Self.allKeys
        return lines.suffix(3).reversed().lazy.compactMap { line in
            let text = String(decoding: line, as: UTF8.self).drop { " -".contains($0) }
            // The key may be a name that the operator chose.
            let word = text.prefix { $0 != ":" }
            let rest = text.dropFirst(word.count + 1)
            if Name.isValid(String(word)), rest.hasPrefix("{") || rest.hasPrefix("[") {
                return String(word)
            }
            guard !text.contains(": ") else { return nil }
            return Suggestion.keyWithoutSpace(in: String(text), among: keys)
        }.first
    }

    public func load(
        text: String, fileName: String
    ) -> Result<LoadedSettings, ConfigurationProblems> {
        load(text: Array(text.utf8), fileName: fileName)
    }
}

extension [ConfigurationProblem] {
    /// The problems, the first 50 with their lines. More would be too many to read at once.
    fileprivate func withExcerpts(of text: [UInt8]) -> [ConfigurationProblem] {
        let source = SourceExcerpt(text)
        return enumerated().map { index, problem in
            guard index < 50 else { return problem }
            var problem = problem
            problem.excerpt = source.text(line: problem.line, column: problem.column)
            return problem
        }
    }

    /// Problems at the same place stay in the order in which they were found.
    fileprivate var inOrderOfText: [ConfigurationProblem] {
        enumerated().sorted { left, right in
            (left.element.line, left.element.column, left.offset)
                < (right.element.line, right.element.column, right.offset)
        }
        .map(\.element)
    }
}
