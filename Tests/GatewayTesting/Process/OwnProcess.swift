import EventLoop
import Foundation

/// A process of its own for a test that measures its process, in which other tests work meanwhile.
///
/// An exit test of Swift Testing 6.3 would have one, too. But the library does not reap it, and the
/// thread that watches for ended processes then finds this one again and again, so that it takes a
/// whole processor until the last test has ended.
public enum OwnProcess {
    private static let mark = "TEST_HAS_OWN_PROCESS"

    /// Runs `body` in a new process, in which only this test runs.
    ///
    /// - Parameters:
    ///   - suite: the type that the test is a function of.
    ///   - function: the test's function, which has no arguments.
    public static func run(
        _ suite: Any.Type, _ function: String = #function, _ body: () throws -> Void
    ) throws {
        guard ProcessInfo.processInfo.environment[mark] == nil else { return try body() }
        let name = NSRegularExpression.escapedPattern(
            for: "\(String(reflecting: suite))/\(function)")
        let outcome = try ChildProcess.run(
            "/proc/self/exe", ["--testing-library", "swift-testing", "--filter", "^\(name)"],
            environment: [mark: "1"])
        let text = outcome.standardOutput + outcome.standardError
        guard outcome.status == .exited(0), text.contains("with 1 test ") else {
            throw ChildProcessError(description: text)
        }
    }

    /// The resident memory of this process, in bytes.
    public static func residentByteCount() throws -> Int {
        guard let usage = ProcessUsage.read() else {
            throw ChildProcessError(description: "the system does not tell the memory of a process")
        }
        return Int(usage.residentByteCount)
    }
}
