import Foundation
import GatewayTesting
import JSON
import Testing

extension FaultTests {
    /// Stores that believe nobody: TLS with certificates on both sides, and users whose rights are
    /// those of the documents. What they ask for goes wrong as everything else does.
    @Suite("of stores with TLS and users")
    struct Secured {
        /// Enough for two handshakes on a busy machine.
        private static let patience = "command_timeout: 300ms, connect_timeout: 2s"

        /// Two gateways with the settings of `counters.redis`.
        private func start(
            _ place: String, _ security: RedisSecurity
        ) throws -> (FaultSite, [GatewayProcess]) {
            let site = try FaultSite(
                counters: "{ redis: { \(place), \(security.settings), \(Self.patience) } }",
                admitsPhones: true)
            site.configuration.workers = 2
            return (site, [try site.start(), try site.start()])
        }

        private func listed(_ addresses: [String]) -> String {
            addresses.map { "\"\($0)\"" }.joined(separator: ", ")
        }

        /// Faults of certificates and users at these servers, all of which are there.
        private func faults(
            _ security: RedisSecurity, at servers: [RedisServer]
        ) -> [Fault] {
            let impostures = RedisSecurity.Imposture.allCases.map { imposture in
                Fault("a certificate: \(imposture)") { run in
                    try security.impose(imposture, on: servers)
                    try RedisSecurity.cut(servers)
                    run.hold()
                    try security.renew(servers)
                }
            }
            let rights = ["evalsha", "set", "mget", "time"].map { right in
                Fault("the right to \(right) withdrawn") { run in
                    try security.change("-\(right)", at: servers)
                    run.hold()
                    try security.change("+\(right)", at: servers)
                }
            }
            return impostures + rights + [
                Fault("a certificate renewed") { _ in
                    try security.renew(servers)
                    try RedisSecurity.cut(servers)
                },
                Fault("a certificate of the gateways renewed") { run in
                    try security.renewClientCertificate()
                    try reload(run)
                    try RedisSecurity.cut(servers)
                },
                Fault("the user deleted") { run in
                    try security.deleteUser(at: servers)
                    run.hold()
                    try security.restoreUsers(at: servers)
                },
                Fault("the password changed") { run in
                    let password = "secret-\(Int.random(in: 0...999, using: &run.generator))"
                    try security.changePassword(to: password, at: servers)
                    try RedisSecurity.cut(servers)
                    run.hold()
                    try reload(run)
                },
            ]
        }

        private func reload(_ run: FaultRun) throws {
            for gateway in run.gateways {
                let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
                let event = try gateway.reload(text: text)
                guard event["event"]?.stringValue == "reloaded" else {
                    throw FaultSiteError("\(event)")
                }
            }
        }

        @Test("one Redis: killed, impostors, rights and passwords that change")
        func one() throws {
            let security = try RedisSecurity()
            let redis = try RedisServer(secured: security)
            let (site, gateways) = try start("address: \"127.0.0.1:\(redis.port)\"", security)
            try FaultRun("Redis with TLS and users", site, gateways).run(
                [.kill(redis), .flush(redis), .stop(redis), .killGateway()]
                    + faults(security, at: [redis]))
        }

        @Test("Sentinels: failovers, and what is wrong at the Sentinels alone")
        func sentinels() throws {
            let security = try RedisSecurity()
            let set = try RedisSentinelSet(security: security)
            let (site, gateways) = try start(
                """
                sentinel: { addresses: [\(listed(set.addresses))], \
                master: \(RedisSentinelSet.masterName), \(security.settings) }
                """, security)
            func rejoin(_ run: FaultRun) throws {
                run.hold()
                try set.rejoin(set.agreedMaster())
            }
            try FaultRun("Sentinels with TLS and users", site, gateways).run(
                [
                    Fault("kill -9 of the master") { run in
                        let old = try set.agreedMaster()
                        try old.kill()
                        try set.waitForMaster(other: old)
                        try old.start()
                        try rejoin(run)
                    },
                    Fault("forced failover") { run in
                        try set.failOver()
                        try rejoin(run)
                    },
                    Fault("failover while no Sentinel lets the gateways in") { run in
                        try security.deleteUser(at: set.sentinels)
                        try set.failOver()
                        run.hold()
                        try security.restoreUsers(at: set.sentinels)
                        try rejoin(run)
                    },
                    Fault("failover while the gateways believe no Sentinel") { run in
                        try security.impose(.otherName, on: set.sentinels)
                        try RedisSecurity.cut(set.sentinels)
                        try set.failOver()
                        run.hold()
                        try security.renew(set.sentinels)
                        try rejoin(run)
                    },
                ])
        }

        @Test("a Cluster: masters killed and replaced, impostors, rights and passwords")
        func cluster() throws {
            let security = try RedisSecurity(adding: RedisSecurity.clusterRights)
            let cluster = try RedisCluster(nodeTimeout: 3000, security: security)
            let (site, gateways) = try start(
                "cluster: { addresses: [\(listed(cluster.addresses))] }", security)
            try FaultRun("a Cluster with TLS and users", site, gateways).run(
                [
                    Fault("kill -9 of a master") { run in
                        let masters = try cluster.servers.filter {
                            try $0.command("ROLE").hasPrefix("master")
                        }
                        let old = masters[Int.random(in: masters.indices, using: &run.generator)]
                        let heir = try cluster.replica(of: old)
                        try old.kill()
                        try cluster.waitUntilMaster(heir)
                        try old.start()
                        try cluster.waitUntilFollowed()
                    }
                ] + faults(security, at: cluster.servers))
        }
    }
}
