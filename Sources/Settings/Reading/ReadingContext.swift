import Attestation
import Policy
import YAML

/// The state that all parts of one reading share: the problems found, and what values may refer to.
final class ReadingContext {
    private let file: String
    let files: FilePlaces
    let substitution: Substitution
    let readFile: SettingsLoader.FileReader
    /// Read before all that refers to them.
    var rateLimits = RateLimitSettings.builtIn
    /// The quotas, which are read as early.
    var quotas: [Quota] = []
    /// The apps, which are read as early; empty if the configuration has none without a fault.
    var apps: [AppIdentity] = []
    /// The paths of required keys that are missing, and of keys with a value of a wrong kind.
    private var faulty: Set<String> = []
    /// The place of each key and element, by its path.
    private(set) var places: [String: YAMLMark] = [:]
    private(set) var errors: [ConfigurationProblem] = []
    private(set) var warnings: [ConfigurationProblem] = []

    init(
        file: String, files: FilePlaces, substitution: Substitution,
        readFile: @escaping SettingsLoader.FileReader
    ) {
        self.file = file
        self.files = files
        self.substitution = substitution
        self.readFile = readFile
    }

    func note(_ mark: YAMLMark, of path: String) { places[path] = mark }

    func noteFault(of path: String) { faulty.insert(path) }

    /// True if the value of `path`, or a mapping or list around it, is of a wrong kind, so that
    /// nothing may be concluded from it.
    func isFaulty(_ path: String) -> Bool {
        if faulty.contains(path) { return true }
        return Self.parent(of: path).map(isFaulty) ?? false
    }

    private static func parent(of path: String) -> String? {
        path.lastIndex { $0 == "." || $0 == "[" }.map { String(path[..<$0]) }
    }

    /// True if the configuration has a value at `path`.
    func has(_ path: String) -> Bool { places[path] != nil }

    /// The place of the value of `path`, or of the closest mapping or list that it would be in.
    func mark(_ path: String) -> YAMLMark {
        places[path] ?? Self.parent(of: path).map(mark) ?? YAMLMark(line: 1, column: 1)
    }

    /// The place of `path`, for messages about another.
    func place(_ path: String) -> String {
        let mark = mark(path)
        return "\(mark.line):\(mark.column)"
    }

    func error(_ message: String, at path: String) {
        error("\(path): \(message)", at: mark(path))
    }

    func warning(_ message: String, at path: String) {
        warning("\(path): \(message)", at: mark(path))
    }

    func error(_ message: String, at mark: YAMLMark) {
        errors.append(problem(message, mark))
    }

    func warning(_ message: String, at mark: YAMLMark) {
        warnings.append(problem(message, mark))
    }

    private func problem(_ message: String, _ mark: YAMLMark) -> ConfigurationProblem {
        ConfigurationProblem(file: file, line: mark.line, column: mark.column, message: message)
    }
}
