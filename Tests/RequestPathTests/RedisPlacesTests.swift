import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

/// The program with each kind of Redis that operators run.
@Suite(
    "Places of Redis", .enabled(if: BuiltProgram.isBuilt && RedisServer.isInstalled),
    .timeLimit(.minutes(30)))
struct RedisPlacesTests {
    private let upstream: RecordingUpstream
    private let directory: ScratchDirectory

    init() throws {
        upstream = try RecordingUpstream()
        directory = try ScratchDirectory()
    }
}

extension RedisPlacesTests {
    private func configuration(_ redis: String) -> GatewayConfiguration {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.counters = "{ redis: \(redis) }"
        // Several workers would reach their Redis one after the other.
        configuration.workers = 1
        return configuration
    }

    /// A second gateway with the keys and the registry of one in `directory`.
    private func sharing(_ configuration: GatewayConfiguration) -> GatewayConfiguration {
        var sharing = configuration
        sharing.more.append(
            "secrets: { challenge_key_file: \(directory.path)/registry.db.challenge-key }")
        return sharing
    }

    /// A gateway whose workers have all reached their Redis.
    private func start(
        _ configuration: GatewayConfiguration, directory: ScratchDirectory? = nil
    ) throws -> GatewayProcess {
        let gateway = try GatewayProcess(configuration, directory: directory)
        try gateway.waitForReadiness(200)
        return gateway
    }

    /// Sends newly signed requests until one passes; how long servers take to agree is theirs.
    private func resume(_ client: SimulatedClient) throws {
        let limit = ChildProcess.deadline
        while true {
            let challenge = try client.raw.exchange("GET", "/assert/challenge")
            if challenge.status == 200 {
                let answer = try client.request("GET", "/api/x", challenge: challenge.bodyText)
                if answer.status == 200 { return }
                #expect([401, 503].contains(answer.status), "\(answer.outcome)")
                #expect(answer.action != "attest_again")
            }
            guard Date() < limit else { throw RawSocketError("no service: \(challenge.outcome)") }
            _ = poll(nil, 0, 20)
        }
    }

    /// Has ten requests accepted and gives what proved them. Servers that have just agreed on a
    /// master may do so again: what is refused meanwhile is signed anew.
    private func accept(_ client: SimulatedClient) throws -> [SimulatedClient.Fields] {
        var accepted: [SimulatedClient.Fields] = []
        try repeatWhile(accepted.count < 10) {
            try resume(client)
            let fields = try client.signature("GET", "/api/x")
            let answer = try client.raw.exchange("GET", "/api/x", fields: fields)
            if answer.status == 200 {
                accepted.append(fields)
            } else {
                #expect(
                    ["401 challenge_expired", "503 store_unavailable"].contains(answer.outcome))
            }
        }
        return accepted
    }

    private func expectRefused(
        _ accepted: [SimulatedClient.Fields], _ client: SimulatedClient
    ) throws {
        for fields in accepted {
            let answer = try client.raw.exchange("GET", "/api/x", fields: fields)
            #expect([401, 503].contains(answer.status), "\(answer.outcome)")
        }
    }

    @Test("TLS with an authority of its own, a certificate, a user whose password changes")
    func secured() throws {
        let authority = try TestCertificate.authority(in: directory)
        let server = try RedisServer(
            certificate: TestCertificate(
                in: directory, "redis", names: ["redis.internal"], issuer: authority),
            authority: authority)
        let identity = try TestCertificate(in: directory, "gateway", issuer: authority)
        let rights = ["~sallyport:*", "+@all"]
        func grant(_ password: String) throws {
            let words = ["ACL", "SETUSER", "gateway", "reset", "on", ">\(password)"]
            try #require(try server.command(words + rights) == "OK")
        }
        try grant("first")
        let passwordPath = try directory.write("first\n", to: "password")
        let port = try #require(server.tlsPort)
        let configuration = configuration(
            """
            { address: "127.0.0.1:\(port)", username: gateway, password_file: \(passwordPath), \
            client_name: edge, command_timeout: 5s, tls: { ca: \(authority.certificatePath), \
            server_name: redis.internal, certificate: \(identity.certificatePath), \
            key: \(identity.keyPath) } }
            """)
        let gateway = try start(configuration)
        let client = try SimulatedClient.enrolled(gateway)
        #expect(try client.request("GET", "/api/x").status == 200)
        #expect(try server.command("CLIENT", "LIST").contains("name=edge"))
        // A new password: the gateway takes it up by a reload, and no connection was lost for it.
        try grant("second")
        try directory.write("second\n", to: "password")
        _ = try gateway.reload(configuration)
        try server.command("CLIENT", "KILL", "USER", "gateway")
        try resume(client)
        #expect(gateway.alarms.isEmpty)
    }

    @Test("a password that changes at all servers of a cluster, and at Sentinels and theirs")
    func rotation() throws {
        let cluster = try RedisCluster()
        let set = try RedisSentinelSet(replicaCount: 1)
        func listed(_ addresses: [String]) -> String {
            addresses.map { "\"\($0)\"" }.joined(separator: ", ")
        }
        let path = directory.path(of: "password")
        let user = "username: gateway, password_file: \(path)"
        let places = [
            ("cluster: { addresses: [\(listed(cluster.addresses))] }", cluster.servers),
            (
                "sentinel: { addresses: [\(listed(set.addresses))], \(user), "
                    + "master: \(RedisSentinelSet.masterName) }", set.servers + set.sentinels
            ),
        ]
        for (place, servers) in places {
            func grant(_ password: String) throws {
                try directory.write("\(password)\n", to: "password")
                for server in servers {
                    let answer = try server.command(
                        "ACL", "SETUSER", "gateway", "reset", "on", ">\(password)", "~*", "&*",
                        "+@all")
                    try #require(answer == "OK")
                }
            }
            try grant("first")
            let configuration = configuration("{ \(place), \(user), command_timeout: 5s }")
            let gateway = try start(configuration)
            let client = try SimulatedClient.enrolled(gateway)
            #expect(try client.request("GET", "/api/x").status == 200)
            try grant("second")
            _ = try gateway.reload(configuration)
            for server in servers { try server.command("CLIENT", "KILL", "USER", "gateway") }
            try resume(client)
            #expect(gateway.alarms.isEmpty)
        }
    }

    @Test("a unix socket, in another database")
    func socket() throws {
        let server = try RedisServer()
        let gateway = try start(
            configuration(
                "{ address: \"unix:\(server.socketPath)\", database: 3, command_timeout: 1m }"))
        let client = try SimulatedClient.enrolled(gateway)
        try expectRefused(accept(client), client)
        #expect(try server.command("INFO", "keyspace").contains("db3:"))
    }

    @Test("a limit by key holds over two gateways, and refuses without spending anything")
    func sharedRate() throws {
        let server = try RedisServer()
        var configuration = configuration("\"\(server.url)\", command_timeout: 1m")
        configuration.more = ["rate_limits: { device: { by: key, rate: 1/h, burst: 4 } }"]
        configuration.routes[0].more = ["rate_limit: device"]
        configuration.routes.insert(
            .init("free", path: "/api/free", attest: "mode: enforce"), at: 0)
        var seen = GatewayConfiguration.Route("seen", path: "/api/seen", attest: "mode: observe")
        seen.more = ["rate_limit: device"]
        configuration.routes.insert(seen, at: 0)
        let first = try start(configuration, directory: directory)
        let second = try start(sharing(configuration), directory: directory)
        let client = try SimulatedClient.enrolled(first)
        let other = try SimulatedClient(second, device: client.device)
        var statuses: [Int] = []
        for _ in 0..<3 {
            statuses.append(try client.request("GET", "/api/x").status)
            statuses.append(try other.request("GET", "/api/x").status)
        }
        #expect(statuses == [200, 200, 200, 200, 429, 429])
        let refused = try client.request("GET", "/api/x")
        #expect(refused.outcome == "429 rate_limited")
        #expect((3500...3601).contains(Int(refused["Retry-After"] ?? "") ?? 0))
        // Observing is about proofs.
        #expect(try client.request("GET", "/api/seen").outcome == "429 rate_limited")
        // Neither the route without the limit nor another key is held up.
        #expect(try other.request("GET", "/api/free").status == 200)
        #expect(try SimulatedClient.enrolled(first).request("GET", "/api/x").status == 200)
    }

    @Test(
        "a counter that comes again with another challenge is reported: the key is on two devices")
    func conflict() throws {
        let server = try RedisServer()
        for counters in ["\"\(server.url)\", command_timeout: 1m", nil] {
            var configuration = configuration(counters ?? "")
            if counters == nil { configuration.counters = "embedded" }
            let gateway = try start(configuration)
            let client = try SimulatedClient.enrolled(gateway)
            for _ in 0..<3 { #expect(try client.request("GET", "/api/x").status == 200) }
            client.device.counter -= 1
            let answer = try client.request("GET", "/api/x")
            #expect(answer.outcome == "401 assertion_replayed")
            let event = try gateway.waitForEvent("counter_conflict")
            #expect(event["level"]?.stringValue == "warning")
            let prefix = String(client.device.keyID.base64.prefix(8))
            #expect(event["message"]?.stringValue?.contains(prefix) == false)
            #expect(try gateway.metric("sallyport_key_conflicts_total") == 1)
            // What is only late is no such thing.
            client.device.counter = 0
            client.device.counter += 1
            let late = try client.request("GET", "/api/x")
            #expect(late.outcome == "401 assertion_replayed")
        }
    }

    /// `rights`: with TLS, and a user who has these beside those of every gateway; nil: without.
    @Test(
        "Sentinels: the master changes twice, nothing passes twice, and service comes back",
        arguments: [nil, "+wait"])
    func sentinels(rights: String?) throws {
        let security = try rights.map { try RedisSecurity(adding: $0) }
        let entry = security.map { ", \($0.settings)" } ?? ""
        let set = try RedisSentinelSet(security: security)
        let addresses = set.addresses.map { "\"\($0)\"" }.joined(separator: ", ")
        let gateway = try start(
            configuration(
                """
                { sentinel: { addresses: [\(addresses)], \
                master: \(RedisSentinelSet.masterName)\(entry) }\(entry), \
                wait: { replicas: 1, timeout: 100ms }, command_timeout: 5s }
                """))
        let client = try SimulatedClient.enrolled(gateway)
        var accepted = try accept(client)
        try set.failOver()
        try resume(client)
        try expectRefused(accepted, client)
        accepted += try accept(client)
        let dying = try #require(try set.master())
        try dying.kill()
        try set.waitForMaster(other: dying)
        try resume(client)
        try expectRefused(accepted, client)
        #expect(gateway.alarms.isEmpty)
    }

    /// `rights`: as above.
    @Test(
        "a cluster: keys on all masters, one of which dies; nothing passes twice",
        arguments: [nil, RedisSecurity.clusterRights])
    func cluster(rights: String?) throws {
        let security = try rights.map { try RedisSecurity(adding: $0) }
        let entry = security.map { ", \($0.settings)" } ?? ""
        let cluster = try RedisCluster(nodeTimeout: 2000, security: security)
        let addresses = cluster.addresses.prefix(2).map { "\"\($0)\"" }.joined(separator: ", ")
        let gateway = try start(
            configuration(
                "{ cluster: { addresses: [\(addresses)] }\(entry), command_timeout: 5s }"))
        let clients = try (0..<6).map { _ in
            let client = try SimulatedClient(gateway)
            #expect(try client.enrol().status == 200)
            return client
        }
        for client in clients { try resume(client) }
        let accepted = try clients.map { try accept($0) }
        for (client, accepted) in zip(clients, accepted) { try expectRefused(accepted, client) }
        try cluster.servers[1].kill()
        for client in clients { try resume(client) }
        for (client, accepted) in zip(clients, accepted) { try expectRefused(accepted, client) }
        #expect(gateway.alarms.isEmpty)
    }

    @Test("start with a warning about what an operator should know of it")
    func warnings() throws {
        let server = try RedisServer(["--maxmemory-policy", "allkeys-lru"])
        let gateway = try start(configuration("\"\(server.url)\""))
        let event = try gateway.waitForEvent("redis_checkup")
        #expect(event["message"]?.stringValue?.hasPrefix("eviction: ") == true)
    }
}
