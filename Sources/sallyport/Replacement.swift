import EventLoop

/// The program that takes over at SIGUSR2: the one that now has the name by which this one was
/// started.
enum Replacement {
    /// Why it cannot; nil if it can. Runs it, and blocks.
    static func problem(configurationPath: String) -> String? {
        do throws(IOError) {
            let ending = try ChildProgram.run(
                [program, "check", "-c", configurationPath], within: patience)
            guard ending.exitCode != 0 else { return nil }
            // Without the excerpts that stand below errors.
            let lines = ending.output.split(separator: "\n").filter { !$0.hasPrefix("  ") }
                .joined(separator: "; ")
            return "\(program) check: exit code \(ending.exitCode): \(lines)"
        } catch {
            return error.description
        }
    }

    /// Becomes that program, with the same arguments, and gives it `listeners`. Returns only if
    /// that fails; the listeners are the caller's again then.
    static func start(with listeners: InheritedListeners) -> IOError {
        let variables = listeners.announce()
        defer { listeners.revoke() }
        return ChildProgram.become(CommandLine.arguments, adding: variables)
    }

    /// A check reads a few files; a program that takes longer is none of ours.
    private static let patience = Duration.seconds(30)
    private static var program: String { CommandLine.arguments[0] }
}
