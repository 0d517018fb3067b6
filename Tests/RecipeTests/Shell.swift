import Foundation
import GatewayTesting

/// What the commands of a recipe run in: a directory, `sallyport` in the path, and in place of
/// `/etc/sallyport/sallyport.yaml` a configuration of the test's own.
struct Shell {
    let directory: ScratchDirectory
    let configurationPath: String
    var environment: [String: String] = [:]

    /// Runs commands as one script, which ends with the first that fails.
    func run(_ commands: String...) throws -> ChildProcess.Outcome {
        let script = """
            sallyport() {
                case " $* " in
                    *' -c '* | ' schema '* | ' version '* | ' explain '*) command sallyport "$@" ;;
                    *) command sallyport "$@" -c '\(configurationPath)' ;;
                esac
            }

            """
        let search = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return try ChildProcess.run(
            "bash", ["-euo", "pipefail", "-c", script + commands.joined()],
            environment: environment.merging(
                ["PATH": BuiltProgram.folder + ":" + search]) { $1 },
            workingDirectory: directory.path)
    }
}
