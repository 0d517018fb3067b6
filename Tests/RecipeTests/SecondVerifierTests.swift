import Foundation
import GatewayTesting
import Testing

/// `Tests/Assurance/compare.py`, which holds a verifier of its own against `sallyport explain`.
@Suite("The second verifier", .enabled(if: BuiltProgram.isBuilt))
struct SecondVerifierTests {}

extension SecondVerifierTests {
    private static let script = Repository.path(of: "Tests/Assurance/compare.py")
    private static let programs = [
        "--program", BuiltProgram.sallyport, "--lab", BuiltProgram.lab,
    ]

    @Test(
        "comes to the gateway's verdict, and finds the same fault first, in each form and mutation",
        .timeLimit(.minutes(30)))
    func agreement() throws {
        let vectors = Repository.shared.appending(path: "vectors").path
        let isPresent = FileManager.default.fileExists(atPath: vectors)
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path,
            [Self.script, "--count", "300"] + Self.programs
                + (isPresent ? ["--vectors", vectors] : []),
            within: .seconds(1_700))
        #expect(
            outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        #expect(outcome.standardOutput.contains("re-signed"))
        #expect(outcome.standardOutput.hasSuffix(" 0 differences\n"))
    }

    @Test("is told of a gateway that is wrong", .timeLimit(.minutes(30)))
    func canary() throws {
        let directory = try ScratchDirectory()
        // Finds everything valid.
        let program = try directory.write(
            """
            #!/bin/sh
            echo '{"verdict":"valid","code":"ok","steps":[]}'

            """, to: "sallyport")
        chmod(program, 0o755)
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path,
            [Self.script, "--count", "0", "--program", program, "--lab", BuiltProgram.lab],
            within: .seconds(1_700))
        #expect(outcome.status == .exited(1))
        #expect(outcome.standardOutput.contains("leafIsCA"))
    }
}
