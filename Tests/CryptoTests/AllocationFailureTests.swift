import GatewayTesting
import Testing

@Suite("Libraries without memory")
struct AllocationFailureTests {}

extension AllocationFailureTests {
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

    /// OpenSSL 3.0 verifies without a name if it has no memory for its copy of it, which is among
    /// the last allocations of the handshake.
    @Test("accept no server of another name")
    func anotherName() throws {
        let operation = "TLS: server of another name"
        let run = try ChildProcess.run(
            BuiltProgram.folder + "/AllocationFailures", ["--last", "60", "planted", operation],
            environment: ["SWIFT_BACKTRACE": "enable=no"], within: .seconds(300))
        #expect(run.status == .exited(0), "\(run.standardOutput)\(run.standardError)")
        #expect(run.standardOutput.contains("120 failures"))
    }
}
