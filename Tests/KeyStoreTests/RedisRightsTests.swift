import GatewayTesting
import KeyStore
import RedisKeyStore
import Testing

@Suite(
    "Rights of the user in Redis", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct RedisRightsTests {}

extension RedisRightsTests {
    /// A worker that looks at its server often, and whom nobody asks for anything.
    private func bench(_ server: RedisServer) throws -> RedisCounterBench {
        var configuration = RedisCounterBench.configuration(port: server.port)
        configuration.checkInterval = .milliseconds(20)
        return try RedisCounterBench(configuration, server: server)
    }

    @Test(
        "a server that runs no counter script is not available until it does, with no request",
        arguments: ["evalsha", "mget"])
    func withdrawn(_ right: String) throws {
        let server = try RedisServer()
        let bench = try bench(server)
        try bench.connect()
        #expect(bench.worker.isAvailable)
        try server.command("ACL", "SETUSER", "default", "-\(right)")
        try bench.run { !bench.worker.isAvailable }
        #expect(bench.worker.isConnected)
        #expect(bench.worker.failureText.hasPrefix("the server refuses: "))
        try server.command("ACL", "SETUSER", "default", "+\(right)")
        try bench.run { bench.worker.isAvailable }
        #expect(
            try bench.verdict(bench.request(counter: 1, challenge: 1)) == .accepted)
    }

    @Test(
        "a connection whose user may not run the counter script is none",
        arguments: ["evalsha", "mget"])
    func lacking(_ right: String) throws {
        let server = try RedisServer()
        try server.command("ACL", "SETUSER", "default", "-\(right)")
        let bench = try bench(server)
        try bench.run { bench.worker.lastFailure != nil }
        #expect(!bench.worker.isConnected)
        #expect(bench.worker.failureText.contains("'\(right)' command"))
        try server.command("ACL", "SETUSER", "default", "+\(right)")
        try bench.connect()
    }
}
