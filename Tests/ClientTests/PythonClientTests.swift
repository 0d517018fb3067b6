import Foundation
import GatewayTesting
import Testing

@Suite("The client in Python")
struct PythonClientTests {}

extension PythonClientTests {
    private static let folder =
        Repository.path(of: "clients/python")

    @Test(
        "does what its own tests say, and what every client does",
        arguments: ["test_client", "test_behaviour"])
    func unittest(module: String) throws {
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path, ["-m", "unittest", module],
            environment: ["PYTHONDONTWRITEBYTECODE": "1"],
            workingDirectory: Self.folder)
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
    }
}
