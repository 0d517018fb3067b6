import AppAttest
import YAML

/// What all parts of one reading share: where problems are collected, what values may refer to.
final class ReadingContext {
    private let file: String
    let substitution: Substitution
    let readFile: SettingsLoader.FileReader
    /// Read before all that refers to them.
    var rateLimits = RateLimitSettings.builtIn
    /// Likewise; empty where there are none, or none that is right.
    var apps: [AppIdentity] = []
    private(set) var errors: [ConfigurationProblem] = []
    private(set) var warnings: [ConfigurationProblem] = []

    init(file: String, substitution: Substitution, readFile: @escaping SettingsLoader.FileReader) {
        self.file = file
        self.substitution = substitution
        self.readFile = readFile
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
