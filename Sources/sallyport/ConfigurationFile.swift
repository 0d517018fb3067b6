import EventLoop
import Settings

/// Finding, reading and complaining about the configuration file.
enum ConfigurationFile {
    /// `-c FILE`, which every command that needs a configuration takes.
    static func path(_ arguments: Arguments, usage: String) -> String {
        if let path = arguments.value("-c") ?? arguments.value("--config") { return path }
        return arguments.required("-c", usage: usage)
    }

    static func load(_ path: String) -> Result<LoadedSettings, ConfigurationProblems> {
        SettingsLoader(
            processorCount: HostSystem.processorCount, environment: HostSystem.environment,
            fileReader: readFile
        ).load(path: path)
    }

    /// The settings; ends the process with code 78 and every problem where there is one.
    static func loadOrExit(_ path: String) -> LoadedSettings {
        switch load(path) {
        case .success(let loaded):
            for warning in loaded.warnings { Console.complain("warning: \(warning)") }
            return loaded
        case .failure(let problems):
            for problem in problems.problems { Console.complain(problem.description) }
            Exit.with(.configuration)
        }
    }

    private static func readFile(_ path: String) -> Result<[UInt8], FileReadFailure> {
        do throws(IOError) {
            return .success(try File.read(path, byteCountMax: byteCountMax))
        } catch {
            return .failure(FileReadFailure(error.description))
        }
    }

    /// Configurations, certificates and secrets are small; a device file would never end.
    static let byteCountMax = 1024 * 1024
}
