import AppAttestTesting
import Foundation
import GatewayTesting
import Testing

/// A gateway on a PostgreSQL that is far away: TLS that proves the server's name and the gateway's
/// own, and a role with the rights that the documents name.
@Suite(
    "PostgreSQL with TLS and a role of few rights",
    .enabled(if: BuiltProgram.isBuilt && PostgresServer.isInstalled), .timeLimit(.minutes(30)))
struct SecuredPostgresTests {
    private let directory: ScratchDirectory
    private let authority: TestCertificate
    private let stranger: TestCertificate
    private let server: PostgresServer
    private let site: FaultSite

    init() throws {
        directory = try ScratchDirectory()
        authority = try TestCertificate.authority(in: directory)
        stranger = try TestCertificate.authority(in: directory, "stranger")
        let leaf = try TestCertificate(
            in: directory, "server", names: ["127.0.0.1"], issuer: authority)
        let authorityPath = authority.certificatePath
        server = try PostgresServer(["fsync=off", "ssl=on", "ssl_ca_file=ca.crt"]) { data in
            try Self.copy(leaf, into: data)
            try FileManager.default.copyItem(atPath: authorityPath, toPath: data + "/ca.crt")
            let rules = """
                local all all trust
                hostssl all postgres 127.0.0.1/32 trust
                hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-full

                """
            try Data(rules.utf8).write(to: URL(fileURLWithPath: data + "/pg_hba.conf"))
        }
        site = try FaultSite()
        let own = try TestCertificate(in: directory, "gateway", names: [], issuer: authority)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: own.keyPath)
        let password = try directory.write("initial-secret\n", to: "password")
        let keys = try site.directory.write(
            Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString() + "\n",
            to: "challenge-keys")
        site.configuration.more.append("secrets: { challenge_key_file: \(keys) }")
        try makeTables()
        let parameters =
            "?sslmode=verify-full&sslrootcert=\(authorityPath)"
            + "&sslcert=\(own.certificatePath)&sslkey=\(own.keyPath)"
        let url = server.url("sallyport", user: "gateway", parameters: parameters)
        site.configuration.registry =
            "postgres: \"\(url)\", password_file: \(password), pool: 2, connect_timeout: 5s"
    }
}

extension SecuredPostgresTests {
    /// The tables are the owner's; the gateway's role gets what the documents say.
    private func makeTables() throws {
        let page = try Repository.text(of: "docs/operations/stores.md")
        try server.query("CREATE DATABASE sallyport")
        try server.query("CREATE ROLE gateway LOGIN PASSWORD 'initial-secret'")
        var owner = site.configuration
        let url = server.url("sallyport", parameters: "?sslmode=require")
        owner.registry = "postgres: \"\(url)\""
        let path = try directory.write(
            owner.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "owner.yaml")
        let made = try BuiltProgram.run(["keys", "import", "-c", path, "/dev/null"])
        try #require(made.status == .exited(0), "\(made.standardError)")
        for line in page.split(separator: "\n") where line.hasPrefix("    GRANT ") {
            try server.query(String(line), database: "sallyport")
        }
    }

    private static func copy(_ leaf: TestCertificate, into data: String) throws {
        for (source, name) in [
            (leaf.certificatePath, "server.crt"), (leaf.keyPath, "server.key"),
        ] {
            // Written over, so that owner and mode stay what PostgreSQL asks for.
            let target = "\(data)/\(name)"
            let bytes = try Data(contentsOf: URL(fileURLWithPath: source))
            if let file = FileHandle(forWritingAtPath: target) {
                try file.truncate(atOffset: 0)
                try file.write(contentsOf: bytes)
                try file.close()
            } else {
                try bytes.write(to: URL(fileURLWithPath: target))
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o600], ofItemAtPath: target)
            }
        }
    }

    // MARK: what goes wrong

    private func show(_ leaf: TestCertificate) throws {
        try Self.copy(leaf, into: server.directory.path(of: "data"))
        let load = "SELECT pg_conf_load_time()"
        let before = try server.query(load)
        try server.query("SELECT pg_reload_conf()")
        // Sessions begin with what the server has read by then.
        try waitWhile(server.query(load) == before)
        try cut()
    }

    private func renew() throws {
        try show(
            TestCertificate(in: directory, "server", names: ["127.0.0.1"], issuer: authority))
    }

    /// Ends the gateway's sessions.
    private func cut() throws {
        try server.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gateway'")
    }

    private func start() throws -> (GatewayProcess, SimulatedDevice) {
        let gateway = try site.start()
        return (gateway, try site.enrolledDevice(at: gateway))
    }

    /// Asks for what needs the registry each time, until it is answered so.
    private func wait(
        for status: Int, _ device: SimulatedDevice, _ gateway: GatewayProcess
    ) throws -> SignedCall {
        try gateway.poll { client in
            let call = try device.call("durable")
            let answer = try call.exchange(on: client)
            #expect([200, 503].contains(answer.status), "\(answer.verdict)")
            return answer.status == status ? call : nil
        }
    }

    private func event(
        _ name: String, saying words: String, _ gateway: GatewayProcess
    ) throws {
        try gateway.current.waitForLine(on: .standardError) {
            $0.contains("\"event\":\"\(name)\"") && $0.contains(words)
        }
    }

    private func expectEachOnce(
        _ calls: [SignedCall], _ device: SimulatedDevice, _ gateway: GatewayProcess
    ) throws {
        // Those that were refused meanwhile have no counter that would pass now.
        let last = try wait(for: 200, device, gateway)
        for call in calls + [last] {
            #expect(try call.exchange(with: gateway).verdict == "401 assertion_replayed")
        }
        let seen = site.seenBodies
        #expect((calls + [last]).allSatisfy { seen[$0.bodyText] == 1 })
        #expect(seen.values.allSatisfy { $0 == 1 })
        #expect(gateway.isUnharmed, "\(gateway.alarms)")
    }

    // MARK: tests

    @Test("killed and started again, and a renewed certificate: served as before")
    func killed() throws {
        let (gateway, device) = try start()
        var calls = [try wait(for: 200, device, gateway)]
        let late = try site.device()
        try server.kill()
        _ = try wait(for: 503, device, gateway)
        #expect(try site.enrol(late, at: gateway).verdict == "503 store_unavailable")
        try server.start()
        calls.append(try wait(for: 200, device, gateway))
        try renew()
        calls.append(try wait(for: 200, device, gateway))
        #expect(try site.enrol(late, at: gateway).status == 200)
        try expectEachOnce(calls, device, gateway)
    }

    enum Imposture: CaseIterable {
        case otherAuthority
        case otherName
        case expired
    }

    @Test(
        "who shows another's certificate is not believed: 503, the reason, and back without a hand",
        arguments: [
            (Imposture.otherAuthority, "certificate verify failed"),
            (.otherName, "does not match host name"), (.expired, "certificate verify failed"),
        ])
    func impostors(_ imposture: Imposture, _ words: String) throws {
        let (gateway, device) = try start()
        var calls = [try wait(for: 200, device, gateway)]
        let descriptorCount = try gateway.fileDescriptorCount()
        let names = imposture == .otherName ? ["postgres.example"] : ["127.0.0.1"]
        let issuer = imposture == .otherAuthority ? stranger : authority
        let leaf = try TestCertificate(in: directory, "server", names: names, issuer: issuer)
        if imposture == .expired { try leaf.expire(by: authority) }
        try show(leaf)
        _ = try wait(for: 503, device, gateway)
        try event("store_down", saying: words, gateway)
        try gateway.waitForReadiness(503)
        try renew()
        calls.append(try wait(for: 200, device, gateway))
        try gateway.waitForReadiness(200)
        try expectEachOnce(calls, device, gateway)
        #expect(try gateway.fileDescriptorCount() <= descriptorCount + 4)
    }

    @Test(
        "a right that is taken away is told, refuses what needs it, and comes back by itself",
        arguments: ["SELECT", "INSERT", "UPDATE"])
    func withdrawn(_ privilege: String) throws {
        let (gateway, device) = try start()
        var calls = [try wait(for: 200, device, gateway)]
        let cold = try site.enrolledDevice(at: gateway)
        let late = try site.device()
        try server.query(
            "REVOKE \(privilege) ON sallyport.keys FROM gateway", database: "sallyport")
        switch privilege {
        case "SELECT":
            let answer = try cold.call("strict", at: gateway).exchange(with: gateway)
            #expect(answer.verdict == "503 store_unavailable")
        case "INSERT":
            #expect(try site.enrol(late, at: gateway).verdict == "503 store_unavailable")
        default: _ = try wait(for: 503, device, gateway)
        }
        try event("registry_failed", saying: "permission denied for table keys", gateway)
        try server.query(
            "GRANT \(privilege) ON sallyport.keys TO gateway", database: "sallyport")
        calls.append(try wait(for: 200, device, gateway))
        #expect(try cold.call("strict", at: gateway).exchange(with: gateway).status == 200)
        #expect(try site.enrol(late, at: gateway).status == 200)
        try expectEachOnce(calls, device, gateway)
    }

    @Test("a role that is locked, or has another password: the reason, and back without a restart")
    func locked() throws {
        let (gateway, device) = try start()
        var calls = [try wait(for: 200, device, gateway)]
        try server.query("ALTER ROLE gateway NOLOGIN")
        try cut()
        _ = try wait(for: 503, device, gateway)
        try event("store_down", saying: "is not permitted to log in", gateway)
        // PostgreSQL reads the password before it looks whether the role may log in: a login that
        // has begun could otherwise pass with the old one.
        try server.query("ALTER ROLE gateway PASSWORD 'another-secret'")
        try event("store_down", saying: "password authentication failed", gateway)
        try server.query("ALTER ROLE gateway LOGIN")
        try directory.write("another-secret\n", to: "password")
        calls.append(try wait(for: 200, device, gateway))
        try expectEachOnce(calls, device, gateway)
        let said = gateway.current.text(on: .standardError)
        #expect(!said.contains("initial-secret") && !said.contains("another-secret"))
    }

    @Test("a certificate of its own that PostgreSQL does not take: the reason, and back")
    func clientCertificate() throws {
        let (gateway, device) = try start()
        var calls = [try wait(for: 200, device, gateway)]
        try mintOwn(by: stranger)
        try cut()
        _ = try wait(for: 503, device, gateway)
        try event("store_down", saying: "alert unknown ca", gateway)
        try mintOwn(by: authority)
        calls.append(try wait(for: 200, device, gateway))
        try expectEachOnce(calls, device, gateway)
    }

    /// In place: libpq wants the key's mode to stay.
    private func mintOwn(by issuer: TestCertificate) throws {
        let own = try TestCertificate(in: directory, "gateway", names: [], issuer: issuer)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: own.keyPath)
    }
}
