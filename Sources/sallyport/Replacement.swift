import EventLoop

/// The program that takes over at SIGUSR2: the one that has this program's name now.
enum Replacement {
    /// The reason why it cannot; nil if it can. Runs the program, and blocks.
    static func problem(configurationPath: String) -> String? {
        do throws(IOError) {
            let ending = try ChildProgram.run(
                [program, "check", "--here", "-c", configurationPath], within: patience)
            guard ending.exitCode != 0 else { return nil }
            // Without the excerpts below errors.
            let lines = ending.output.split(separator: "\n").filter { !$0.hasPrefix("  ") }
                .joined(separator: "; ")
            return "\(program) check: exit code \(ending.exitCode): \(lines)"
        } catch {
            return error.description
        }
    }

    /// Becomes that program, with the same arguments, and gives it `listeners`. Returns only if
    /// that fails; the listeners then belong to the caller again.
    static func start(with listeners: InheritedListeners) -> IOError {
        let variables = listeners.announce()
        defer { listeners.revoke() }
        return ChildProgram.become(CommandLine.arguments, adding: variables)
    }

    /// The time for its check. A check reads a few files, so a program that takes longer is another
    /// one.
    private static let patience = Duration.seconds(30)
    private static var program: String { CommandLine.arguments[0] }
}
