import Attestation
import Bytes
import Foundation
import GatewayTesting
import KeyStore
import Postgres
import PostgresKeyStore
import Testing

/// Making tables, and servers and tables that will not do.
@Suite(
    "The tables of a PostgreSQL registry", .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(30)))
final class PostgresSchemaTests {
    let fixture: PostgresFixture
    var generator = SeededGenerator(seed: 14)

    init() throws { fixture = try PostgresFixture() }
}

extension PostgresSchemaTests {
    private func refusal(
        _ change: (inout PostgresRegistryConfiguration) -> Void = { _ in }
    ) -> String {
        let error = #expect(throws: StoreError.self) { try self.fixture.registry(change).close() }
        return error?.description ?? ""
    }

    @Test("many gateways that start at once make the tables once")
    func together() async throws {
        let fixture = fixture
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let registry = try? fixture.registry {
                        // One makes the tables while seven wait, on a machine that does much else.
                        $0.connection.commandTimeout = .seconds(300)
                        $0.connection.connectTimeout = .seconds(300)
                    }
                    guard let registry else { return false }
                    defer { registry.close() }
                    return (try? registry.probe()) != nil
                }
            }
            for await isGood in group { #expect(isGood) }
        }
        #expect(try fixture.query("SELECT version, revision FROM sallyport.registry") == "1|1")
    }

    @Test("tables of a later version are refused and left as they are")
    func newer() throws {
        try fixture.registry().close()
        try fixture.query("UPDATE sallyport.registry SET version = 2")
        #expect(refusal().contains("written by a later version (schema 2, this version knows 1)"))
        #expect(throws: StoreError.self) { try self.fixture.administration() }
        #expect(try fixture.query("SELECT version FROM sallyport.registry") == "2")
    }

    @Test("tables of a version that none has are refused", arguments: [0, -1])
    func damagedVersion(version: Int) throws {
        try fixture.registry().close()
        try fixture.query("UPDATE sallyport.registry SET version = \(version)")
        #expect(refusal().contains("schema sallyport holds tables of another program"))
    }

    @Test("tables may take longer to be made than any request may take")
    func slowMigration() throws {
        try fixture.query(
            """
            CREATE FUNCTION hold() RETURNS event_trigger LANGUAGE plpgsql AS $$
            BEGIN PERFORM pg_sleep(3); END $$;
            CREATE EVENT TRIGGER hold ON ddl_command_end WHEN TAG IN ('CREATE SCHEMA')
                EXECUTE FUNCTION hold()
            """)
        let registry = try fixture.registry {
            $0.connection.commandTimeout = .seconds(2)
            $0.connection.connectTimeout = .seconds(2)
        }
        defer { registry.close() }
        try registry.probe()
        #expect(try fixture.query("SELECT version FROM sallyport.registry") == "1")
    }

    @Test("a schema that another program uses is refused and left as it is")
    func foreign() throws {
        try fixture.query("CREATE SCHEMA sallyport; CREATE TABLE sallyport.registry (version text)")
        #expect(refusal().hasPrefix("registry: "))
        #expect(
            try fixture.query("SELECT count(*) FROM pg_tables WHERE schemaname='sallyport'") == "1")
    }

    @Test("a user without a login, a database that is not there, and a wrong privilege are errors")
    func refused() throws {
        #expect(refusal { $0.connection.user = "nobody" }.contains("28000"))
        #expect(refusal { $0.connection.database = "nowhere" }.contains("3D000"))
        try fixture.server.query("CREATE ROLE plain_\(fixture.database) LOGIN")
        let user = "plain_\(fixture.database)"
        #expect(refusal { $0.connection.user = user }.contains("42501"))
    }

    @Test("a role that may only do what a gateway does is enough")
    func restrictedRole() throws {
        let user = "gateway_\(fixture.database)"
        try fixture.registry().close()
        try fixture.query(
            """
            CREATE ROLE \(user) LOGIN; GRANT USAGE ON SCHEMA sallyport TO \(user);
            GRANT SELECT, INSERT, UPDATE ON sallyport.keys, sallyport.renewals TO \(user);
            GRANT SELECT, INSERT, DELETE ON sallyport.challenges TO \(user);
            GRANT SELECT, INSERT, UPDATE ON sallyport.shared_state TO \(user);
            GRANT SELECT, UPDATE ON sallyport.registry TO \(user);
            GRANT SELECT, INSERT, DELETE ON sallyport.changes TO \(user);
            GRANT SELECT, INSERT, UPDATE, DELETE ON sallyport.key_users TO \(user);
            GRANT SELECT, INSERT, DELETE ON sallyport.audit TO \(user);
            GRANT SELECT, INSERT ON sallyport.key_certificates TO \(user);
            GRANT SELECT, INSERT, UPDATE ON sallyport.installations TO \(user);
            """)
        let registry = try fixture.registry { $0.connection.user = user }
        let record = generator.record()
        #expect(try registry.enrol(record, challenge: generator.bytes16()) == .enrolled)
        #expect(try registry.advance(record.keyID, 1) == .advanced)
        try registry.probe()
        registry.close()
        var steps: [PostgresCheckupStep] = []
        PostgresCheckup.run(fixture.configuration { $0.connection.user = user }) {
            steps.append($0)
        }
        #expect(steps.allSatisfy { $0.verdict != .failure }, "\(steps)")
        // The admin API's erasures need more, as its page says.
        let configuration = fixture.configuration { $0.connection.user = user }
        func lacks() -> [String] {
            var texts: [String] = []
            PostgresCheckup.run(configuration, erasesKeys: true) {
                if $0.verdict == .failure { texts.append($0.text) }
            }
            return texts
        }
        #expect(lacks().count == 1)
        let page = try String(
            contentsOfFile: Repository.path(of: "docs/operations/admin-api.md"), encoding: .utf8)
        let grant = try #require(page.firstMatch(of: /GRANT DELETE ON .* TO gateway;/)?.output)
        try fixture.query(String(grant).replacing(" gateway;", with: " \(user);"))
        #expect(lacks() == [])
        let administration = try PostgresAdministration(configuration)
        #expect(try administration.erase([record.keyID]) == [.done])
        try fixture.query("REVOKE INSERT ON sallyport.challenges FROM \(user)")
        steps = []
        PostgresCheckup.run(fixture.configuration { $0.connection.user = user }) {
            steps.append($0)
        }
        #expect(
            steps.contains {
                $0.verdict == .failure && $0.text == "the user lacks INSERT on challenges"
            }, "\(steps)")
    }

    @Test("commits are durable where the database would rather not")
    func synchronousCommit() throws {
        try fixture.query("ALTER DATABASE \(fixture.database) SET synchronous_commit = off")
        let registry = try fixture.registry()
        try registry.probe()
        var steps: [PostgresCheckupStep] = []
        PostgresCheckup.run(fixture.configuration()) { steps.append($0) }
        #expect(!steps.contains { $0.text.contains("synchronous_commit off") }, "\(steps)")
        registry.close()
    }

    @Test("passwords out of a file that changes, TLS with a checked name")
    func passwordAndTLS() throws {
        let directory = try ScratchDirectory()
        let authority = try TestCertificate.authority(in: directory)
        let leaf = try TestCertificate(
            in: directory, "server", names: ["localhost"], issuer: authority)
        let server = try PostgresServer(["fsync=off", "ssl=on"]) { data in
            for (source, name) in [
                (leaf.certificatePath, "server.crt"), (leaf.keyPath, "server.key"),
            ] {
                try FileManager.default.copyItem(atPath: source, toPath: "\(data)/\(name)")
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o600], ofItemAtPath: "\(data)/\(name)")
            }
            let rules = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n"
            try Data(rules.utf8).write(to: URL(fileURLWithPath: data + "/pg_hba.conf"))
        }
        try server.query("ALTER USER postgres PASSWORD 'first'")
        let file = try directory.write("first\n", to: "password")
        let fixture = try PostgresFixture(server)
        func configure(_ configuration: inout PostgresRegistryConfiguration, _ host: String) {
            configuration.connection.hosts = [.init(name: host, port: server.port)]
            configuration.connection.passwordFile = file
            configuration.connection.parameters = [
                "sslmode": "verify-full", "sslrootcert": authority.certificatePath,
            ]
        }
        let registry = try fixture.registry { configure(&$0, "localhost") }
        try registry.probe()
        // Another password, and every session gone: the new one is read.
        try server.query("ALTER USER postgres PASSWORD 'second'")
        try directory.write("second", to: "password")
        try server.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'postgres'"
                + " AND pid <> pg_backend_pid() AND application_name = 'sallyport'")
        try waitWhile((try? registry.probe()) == nil)
        registry.close()
        try directory.write("third", to: "password")
        let words = #expect(throws: StoreError.self) {
            try fixture.registry { configure(&$0, "localhost") }.close()
        }
        #expect(words?.description.contains("28P01") == true)
        #expect(words?.description.contains("third") == false)
        // The certificate is for another name: not a reason to stop a start, and never used.
        let other = try fixture.registry { configure(&$0, "127.0.0.1") }
        let refused = #expect(throws: StoreError.self) { try other.probe() }
        #expect(
            refused?.description.contains("certificate") == true, "\(refused?.description ?? "")")
        other.close()
    }
}
