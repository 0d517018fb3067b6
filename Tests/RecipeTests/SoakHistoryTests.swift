import Foundation
import GatewayTesting
import Testing

/// `Benchmarks/soak/history.py`, which judges what `make soak-mix` has seen.
@Suite("The history of a soak")
struct SoakHistoryTests {}

extension SoakHistoryTests {
    @Test("finds each kind of fault that is put into it, and none without")
    func canary() throws {
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path,
            ["-B", Repository.path(of: "Benchmarks/soak/history.py")])
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        #expect(outcome.standardOutput.contains("each fault is found"))
    }
}
