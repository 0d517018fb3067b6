import EventLoop
import Gateway
import Settings

/// Finds and reads the configuration file, and prints its problems.
enum ConfigurationFile {
    /// The path at which packages install the configuration.
    static let defaultPath = "/etc/sallyport/sallyport.yaml"

    /// `-c FILE`, which every command that needs a configuration takes, or else ``defaultPath``.
    /// Ends the process if there is neither; `tell` is told first. A file that cannot be read is
    /// reported by the code that loads it.
    static func path(
        _ arguments: Arguments, usage: String, tell: (String) -> Void = { _ in }
    ) -> String {
        if let path = arguments.value("-c") ?? arguments.value("--config") { return path }
        do throws(IOError) {
            _ = try File.read(defaultPath, byteCountMax: byteCountMax)
        } catch {
            guard error.reason == .notFound else { return defaultPath }
            let problem = "-c FILE is missing, and \(error)"
            tell(problem)
            Exit.usage("\(problem)\n\n\(usage)")
        }
        return defaultPath
    }

    /// `files`: notes each file that is read.
    static func load(
        _ path: String, noting files: ConfigurationFiles? = nil
    ) -> Result<LoadedSettings, ConfigurationProblems> {
        files?.begin()
        let loader = SettingsLoader(
            processorCount: HostSystem.processorCount,
            workingDirectory: HostSystem.workingDirectory, environment: HostSystem.environment
        ) { path in
            files?.note(path)
            return readFile(path)
        }
        return loader.load(path: path)
    }

    /// Returns the settings; if there is any problem, prints all of them and ends the process with
    /// code 78.
    ///
    /// `warns`: prints the warnings too. They are for an operator who starts the gateway; `check`
    /// prints them to one who changes the file.
    static func loadOrExit(
        _ path: String, noting files: ConfigurationFiles? = nil, warns: Bool = false
    ) -> LoadedSettings {
        switch load(path, noting: files) {
        case .success(let loaded):
            guard warns else { return loaded }
            for warning in loaded.warnings { Console.complain("warning: \(warning)") }
            return loaded
        case .failure(let problems):
            for problem in problems.problems { Console.complain(problem.illustrated) }
            Exit.with(.configuration)
        }
    }

    private static func readFile(_ path: String) -> Result<[UInt8], FileReadFailure> {
        do throws(IOError) {
            return .success(try File.read(path, byteCountMax: byteCountMax))
        } catch {
            guard error.reason == .permissionDenied else {
                return .failure(FileReadFailure(error.reason.text))
            }
            return .failure(
                FileReadFailure(
                    "permission denied to \(HostSystem.userName): let this user read it, or run as "
                        + "another"))
        }
    }

    /// The longest file: configurations, certificates and secrets are small, and a device file
    /// would never end.
    static let byteCountMax = 1024 * 1024
}
