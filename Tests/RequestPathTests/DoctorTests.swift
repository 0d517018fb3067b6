import GatewayTesting
import Testing

@Suite(
    "The doctor", .enabled(if: BuiltProgram.isBuilt && RedisServer.isInstalled),
    .timeLimit(.minutes(30)))
struct DoctorTests {
    private let upstream: RecordingUpstream

    init() throws { upstream = try RecordingUpstream() }
}

extension DoctorTests {
    /// What `doctor` says about a gateway's file; the gateway itself runs beside it.
    private func examine(
        _ server: RedisServer, at place: String? = nil
    ) throws -> (lines: [String], status: ChildProcess.ExitStatus) {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.counters = "{ redis: \(place ?? "\"\(server.url)\"") }"
        let directory = try ScratchDirectory()
        let path = try directory.write(
            configuration.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "doctor.yaml")
        let outcome = try BuiltProgram.run(["doctor", "-c", path])
        return (outcome.standardOutput.split(separator: "\n").map(String.init), outcome.status)
    }

    @Test("has a line for each thing that a gateway does with Redis")
    func healthy() throws {
        let server = try RedisServer()
        let (lines, status) = try examine(server)
        #expect(status == .exited(0))
        #expect(lines.filter { $0.hasPrefix("ok    redis ") }.count == 13, "\(lines)")
        #expect(!lines.contains { $0.hasPrefix("FAIL") })
        #expect(try server.command("DBSIZE") == "0")
    }

    @Test("tries each thing at the servers of a cluster, and leaves nothing behind")
    func cluster() throws {
        let cluster = try RedisCluster()
        let (lines, status) = try examine(
            cluster.servers[0],
            at: "{ cluster: { addresses: [\"\(cluster.addresses[0])\"] } }")
        #expect(status == .exited(0), "\(lines)")
        #expect(!lines.contains { $0.hasPrefix("FAIL") })
        for server in cluster.servers[..<cluster.masterCount] {
            #expect(lines.contains { $0.contains("127.0.0.1:\(server.port)") }, "\(lines)")
            #expect(try server.command("DBSIZE") == "0")
        }
    }

    @Test("fails for a user that may not call the counter script")
    func missingRight() throws {
        let server = try RedisServer()
        try server.command(
            "ACL", "SETUSER", "gateway", "on", ">opensesame", "~sallyport:*", "+@all", "-evalsha")
        let (lines, status) = try examine(
            server, at: "\"redis://gateway:opensesame@127.0.0.1:\(server.port)/0\"")
        #expect(status == .exited(1))
        let failures = lines.filter { $0.hasPrefix("FAIL") }
        #expect(failures.count == 1, "\(lines)")
        #expect(failures.first?.hasPrefix("FAIL  redis counter script: EVALSHA: NOPERM") == true)
        #expect(!lines.contains { $0.contains("opensesame") })
    }

    @Test("warns of a server that may evict keys one day, and still ends well")
    func eviction() throws {
        let (lines, status) = try examine(
            try RedisServer(["--maxmemory-policy", "allkeys-lru"]))
        #expect(status == .exited(0))
        #expect(lines.contains { $0.hasPrefix("warn  redis eviction: ") }, "\(lines)")
    }
}
