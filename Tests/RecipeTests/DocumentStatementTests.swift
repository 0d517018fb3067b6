import Foundation
import GatewayTesting
import Testing

/// The statements for databases that `docs/operations/stores.md` shows.
@Suite("Statements of the documents", .enabled(if: BuiltProgram.isBuilt))
struct DocumentStatementTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
        let secret = try ChildProcess.run("openssl", ["rand", "-base64", "32"]).standardOutput
        try directory.write(secret, to: "challenge-keys")
    }
}

extension DocumentStatementTests {
    /// The block that begins with these words and has the others, as one line a statement.
    private func statements(_ words: String, with others: String = "") throws -> String {
        let blocks = try Document("docs/operations/stores.md").blocks
        let block = try #require(
            blocks.first {
                $0.text.hasPrefix(words) && (others.isEmpty || $0.text.contains(others))
            })
        return block.text
    }

    private func write(
        _ name: String, _ change: (inout GatewayConfiguration) -> Void
    ) throws -> String {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.more = ["secrets: { challenge_key_file: \(directory.path)/challenge-keys }"]
        change(&configuration)
        return try directory.write(
            configuration.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: name)
    }

    @Test(
        "give the roles of PostgreSQL what the owner and a gateway need",
        .enabled(if: PostgresServer.isInstalled))
    func postgres() throws {
        let server = try PostgresServer()
        for statement in try statements("CREATE ROLE").split(separator: "\n") {
            try server.query(String(statement))
        }
        try server.query("CREATE ROLE gateway LOGIN")
        func path(_ role: String) throws -> String {
            try write("\(role).yaml") {
                $0.registry = "postgres: \"\(server.url("sallyport", user: role))\""
            }
        }
        let tables = try Shell(
            directory: directory, configurationPath: try path("sallyport")
        ).run("sallyport keys import /dev/null")
        #expect(tables.status == .exited(0), "\(tables.standardError)")
        let gateway = try path("gateway")
        #expect(try BuiltProgram.run(["doctor", "-c", gateway]).status == .exited(1))
        try server.query(try statements("GRANT USAGE"), database: "sallyport")
        let outcome = try BuiltProgram.run(["doctor", "-c", gateway])
        #expect(outcome.status == .exited(0), "\(outcome.standardOutput)")
    }

    @Test("give the user of Redis what a gateway needs", .enabled(if: RedisServer.isInstalled))
    func redis() throws {
        let server = try RedisServer()
        let words = try statements("ACL SETUSER").split(whereSeparator: \.isWhitespace)
        _ = try server.command(words.map(String.init), password: nil)
        let path = try write("redis.yaml") {
            $0.counters = "{ redis: \"redis://sallyport:PASSWORD@127.0.0.1:\(server.port)/0\" }"
        }
        let outcome = try BuiltProgram.run(["doctor", "-c", path])
        #expect(outcome.status == .exited(0), "\(outcome.standardOutput)")
    }

    @Test(
        "give the user of Sentinels what a gateway and doctor need",
        .enabled(if: RedisServer.isInstalled))
    func sentinels() throws {
        let set = try RedisSentinelSet(replicaCount: 1)
        let words = try statements("ACL SETUSER", with: "+sentinel|")
            .split(whereSeparator: \.isWhitespace)
        for sentinel in set.sentinels {
            _ = try sentinel.command(words.map(String.init), password: nil)
        }
        let addresses = set.addresses.map { "\"\($0)\"" }.joined(separator: ", ")
        let path = try write("sentinels.yaml") {
            $0.counters = """
                { redis: { sentinel: { addresses: [\(addresses)], \
                master: \(RedisSentinelSet.masterName), username: sallyport, \
                password: PASSWORD } } }
                """
        }
        let outcome = try BuiltProgram.run(["doctor", "-c", path])
        #expect(outcome.status == .exited(0), "\(outcome.standardOutput)")
        #expect(!outcome.standardOutput.contains("NOPERM"), "\(outcome.standardOutput)")
    }
}
