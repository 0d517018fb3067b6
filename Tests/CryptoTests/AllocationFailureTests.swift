import GatewayTesting
import Testing

@Suite("OpenSSL without memory")
struct AllocationFailureTests {
    @Test(
        "refuses, or is right, and recovers",
        arguments: ["signature", "certificate: read", "chain", "identity: read", "TLS: good"])
    func failures(operation: String) throws {
        let run = try ChildProcess.run(
            BuiltProgram.folder + "/AllocationFailures", ["--every", "61", "planted", operation],
            environment: ["SWIFT_BACKTRACE": "enable=no"], within: .seconds(300))
        #expect(run.status == .exited(0), "\(run.standardOutput)\(run.standardError)")
        #expect(run.standardOutput.contains("\(operation)"))
    }
}
