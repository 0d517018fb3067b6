import Foundation
import GatewayTesting
import Testing

/// The suites of `Tests/Conformance`, which know nothing of how the gateway is made, against the
/// built program. They may be run against other servers too: docs/proof/conformance.md.
@Suite("Conformance", .enabled(if: BuiltProgram.isBuilt))
struct ConformanceTests {}

extension ConformanceTests {
    /// Debian's: the one that has Debian's packages.
    static let isInstalled =
        PythonInterpreter.debian.has("h2, hpack, websockets")
    private static let script = Repository.path(of: "Tests/Conformance/run.py")

    static let suites = [
        "h2", "h2-tls", "http1", "smuggling", "downgrade", "slow", "floods", "clients",
    ]

    @Test(
        "no case of a suite fails", .timeLimit(.minutes(30)),
        .enabled(if: isInstalled, "python3-h2 or python3-websockets is not installed"),
        arguments: suites)
    func suite(name: String) throws {
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path,
            ["-B", Self.script, "--program", BuiltProgram.sallyport, name],
            within: .seconds(1_700))
        #expect(
            outcome.status == .exited(0),
            "\(outcome.standardOutput)\(outcome.standardError)")
        // A suite without cases would prove nothing.
        #expect(outcome.standardOutput.contains(#/ [1-9]\d* cases, 0 failed/#))
    }
}
