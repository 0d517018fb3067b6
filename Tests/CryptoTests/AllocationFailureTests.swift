import GatewayTesting
import Testing

@Suite("Libraries without memory")
struct AllocationFailureTests {
    @Test(
        "refuse, or are right, and recover",
        arguments: [
            "signature", "certificate: read", "chain", "identity: read", "TLS: good", "JSON: read",
            "YAML: read", "HTTP/2: one request", "SQLite: written", "Redis: replies in pieces",
            "HTTPS client: a request", "PostgreSQL: prepared", "event loop",
        ])
    func failures(operation: String) throws {
        let run = try ChildProcess.run(
            BuiltProgram.folder + "/AllocationFailures", ["--every", "61", "planted", operation],
            environment: ["SWIFT_BACKTRACE": "enable=no"], within: .seconds(300))
        #expect(run.status == .exited(0), "\(run.standardOutput)\(run.standardError)")
        #expect(run.standardOutput.contains("\(operation)"))
    }
}
