import Bytes
import JSON
import Settings

/// Everything that `check` finds in a configuration, and on the machine that it runs on.
struct CheckReport {
    private let path: String
    private(set) var errors: [ConfigurationProblem]
    private(set) var warnings: [ConfigurationProblem] = []
    /// Nil if the file has errors.
    private(set) var settings: Settings?

    var isGood: Bool { errors.isEmpty }

    /// `isHere`: the gateway is to run as this user on this machine.
    init(path: String, isHere: Bool = false) {
        self.path = path
        switch ConfigurationFile.load(path) {
        case .failure(let found): errors = found.problems
        case .success(let loaded):
            errors = []
            settings = loaded.settings
            warnings = loaded.warnings
            examine(loaded, isHere: isHere)
        }
    }

    /// Examines the files that the configuration names. Unless the gateway is to run here, it may
    /// run on another machine and as another user, so faults that depend on them are no errors. A
    /// directory in place of a file is one.
    private mutating func examine(_ loaded: LoadedSettings, isHere: Bool) {
        let requirements = StartRequirements(settings: loaded.settings)
        let faults =
            requirements.placeFaults() + requirements.losses() + requirements.secondNames()
            + requirements.openSecrets(configurationPath: path) + requirements.libraryFaults()
        func problem(_ fault: StartRequirements.Fault) -> ConfigurationProblem {
            loaded.problem(fault.text, at: fault.setting)
        }
        let isError = { (fault: StartRequirements.Fault) in
            fault.isCertain || isHere && fault.endsStart
        }
        warnings += faults.filter { !isError($0) }.map(problem)
        errors += (faults.filter(isError) + requirements.keyFaults()).map(problem)
    }

    func complain() {
        for warning in warnings { Console.complain("warning: \(warning.illustrated)") }
        for error in errors { Console.complain(error.illustrated) }
    }

    /// The report as
    /// `{"file","valid","errors":[{"file","line","column","message"}],"warnings":[...]}`. A problem
    /// of the file as a whole has neither line nor column.
    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("file", string: path)
        writer.member("valid", bool: isGood)
        writer.beginArray("errors")
        Self.write(errors, to: &writer)
        writer.endArray()
        writer.beginArray("warnings")
        Self.write(warnings, to: &writer)
        writer.endArray()
        writer.endObject()
        return String(decoding: writer.finish().readable.array, as: UTF8.self)
    }

    private static func write(_ problems: [ConfigurationProblem], to writer: inout JSONWriter) {
        for problem in problems {
            writer.beginObject()
            writer.member("file", string: problem.file)
            if problem.line > 0 {
                writer.member("line", int: Int64(problem.line))
                writer.member("column", int: Int64(problem.column))
            }
            writer.member("message", string: problem.message)
            writer.endObject()
        }
    }
}
