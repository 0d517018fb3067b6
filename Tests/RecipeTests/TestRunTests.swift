import Foundation
import GatewayTesting
import Testing

/// `scripts/run-tests.sh`, whose runners are played by a script.
@Suite("A run of all tests")
struct TestRunTests {
    private let directory: ScratchDirectory

    init() throws { directory = try ScratchDirectory() }
}

extension TestRunTests {
    /// Runs it with a `swift` of which one process of four has failed in these functions. `again`:
    /// what it does when it is asked once more, and what it says of that.
    private func run(
        failing functions: [String], closes: Bool = true, again: (status: Int, testCount: Int),
        beside: String = "true"
    ) throws -> (outcome: ChildProcess.Outcome, calls: [Substring]) {
        let calls = directory.path(of: "calls")
        let suite = #"    <testcase classname="GatewayTests.SomeTests""#
        let cases =
            functions.map { suite + #" name="\#($0)()">"# + "\n<failure />\n</testcase>" }
            + [suite + #" name="passed()" />"#]
        let end =
            functions.isEmpty
            ? "✔ Test run with 3 tests passed after 1 seconds."
            : "✘ Test run with 3 tests failed after 1 seconds with 1 issue."
        try directory.write(
            """
            #!/bin/sh
            echo "$*" >> \(calls)
            file=${3%.xml}-swift-testing.xml
            case "$*" in
            *--no-parallel*)
                : > "$file"
                echo '✔ Test run with \(again.testCount) tests passed after 1 seconds.'
                exit \(again.status);;
            *--skip\\ *)
                echo '\(cases.joined(separator: "\n"))' > "$file"
                \(closes ? "echo '\(end)'" : ":")
                exit \(functions.isEmpty && closes ? 0 : 1);;
            *) : > "$file"; echo '✔ Test run with 4 tests passed after 1 seconds.';;
            esac

            """, to: "swift")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o700], ofItemAtPath: directory.path(of: "swift"))
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let outcome = try ChildProcess.run(
            Repository.path(of: "scripts/run-tests.sh"), ["--skip-build"],
            environment: ["PATH": "\(directory.path):\(path)", "BESIDE": beside])
        let text = try String(contentsOfFile: calls, encoding: .utf8)
        return (outcome, text.split(separator: "\n"))
    }

    @Test("ends well where nothing failed, and nothing is asked again")
    func success() throws {
        let (outcome, calls) = try run(failing: [], again: (1, 0))
        #expect(outcome.status == .exited(0))
        #expect(calls.count == 4)
    }

    @Test("names a test that failed beside the others and passes on its own")
    func again() throws {
        let (outcome, calls) = try run(failing: ["one", "one", "two"], again: (0, 2))
        #expect(outcome.status == .exited(0))
        #expect(outcome.standardOutput.contains("a defect to be mended"))
        #expect(outcome.standardOutput.contains("  GatewayTests.SomeTests/one\\(\\)\n"))
        #expect(calls.count == 5)
        let patterns = ["one", "two"].map { "--filter ^GatewayTests.SomeTests/\($0)\\(\\)" }
        #expect(calls.last?.hasSuffix("--no-parallel " + patterns.joined(separator: " ")) == true)
    }

    @Test(
        "fails where a test fails on its own, too, or is not found",
        arguments: [(1, 1), (0, 0)])
    func failure(status: Int, testCount: Int) throws {
        let (outcome, calls) = try run(failing: ["one"], again: (status, testCount))
        #expect(outcome.status == .exited(1))
        #expect(calls.count == 5)
    }

    @Test("says what a command beside it says, and fails with it", arguments: [0, 3])
    func beside(status: Int32) throws {
        let (outcome, calls) = try run(
            failing: [], again: (1, 0), beside: "echo beside; exit \(status)")
        #expect(outcome.status == .exited(status))
        #expect(calls.count == 4)
        let lines = outcome.standardOutput.split(separator: "\n").map(String.init)
        #expect(lines.contains("beside"))
        #expect(lines.contains("What failed:") == (status != 0))
        #expect(lines.suffix(4).allSatisfy { $0.contains("Test run with") })
    }

    @Test("fails at once where many tests failed")
    func many() throws {
        let (outcome, calls) = try run(failing: ["one", "two", "three", "four"], again: (0, 4))
        #expect(outcome.status == .exited(1))
        #expect(calls.count == 4)
    }

    @Test("fails at once where a process ended before its tests", arguments: [[], ["one"]])
    func crash(functions: [String]) throws {
        let (outcome, calls) = try run(failing: functions, closes: false, again: (0, 1))
        #expect(outcome.status == .exited(1))
        #expect(calls.count == 4)
    }
}
