import Foundation
import GatewayTesting
import Testing

extension FaultTests {
    /// Three masters, a replica for each.
    @Suite("of a cluster")
    struct Cluster {
        private let redis: RedisCluster

        init() throws { redis = try RedisCluster(nodeTimeout: 3000) }

        private func masters() throws -> [RedisServer] {
            try redis.servers.filter { try $0.command("ROLE").hasPrefix("master") }
        }

        private func anyMaster(_ run: FaultRun) throws -> RedisServer {
            let masters = try masters()
            return masters[Int.random(in: masters.indices, using: &run.generator)]
        }

        /// The servers that follow this one.
        private func replicas(of master: RedisServer) throws -> [RedisServer] {
            try redis.servers.filter {
                try $0.command("ROLE").split(separator: "\n").dropFirst(2).first
                    == "\(master.port)"
            }
        }

        /// Asks again and again: Redis tells nobody.
        private func wait(_ what: String, until isSo: () throws -> Bool) throws {
            let limit = ChildProcess.deadline
            while try !isSo() {
                guard Date() < limit else { throw FaultSiteError("waited in vain for \(what)") }
                _ = poll(nil, 0, 20)
            }
        }

        private func killMaster(_ run: FaultRun) throws {
            let old = try anyMaster(run)
            let heirs = try replicas(of: old)
            try old.kill()
            try wait("an heir") {
                try heirs.contains { try $0.command("ROLE").hasPrefix("master") }
            }
            try old.start()
            try redis.waitUntilFollowed()
        }

        /// A replica takes over without asking anybody, and without the last that was written.
        private func takeOver(_ run: FaultRun) throws {
            guard let heir = try replicas(of: try anyMaster(run)).first else { return }
            heir.stop()
            run.ledger.wait(actions: 30, until: Date(timeIntervalSinceNow: 1))
            heir.resume()
            try heir.command("CLUSTER", "FAILOVER", "TAKEOVER")
            try redis.waitUntilFollowed()
        }

        /// Slots in which devices have their counters go to another master, key by key.
        private func moveSlots(_ run: FaultRun) throws {
            let masters = try masters().shuffled(using: &run.generator)
            let names = try masters[0].command("--scan").split(separator: "\n")
            for name in names.map(String.init).shuffled(using: &run.generator).prefix(5) {
                let slot = Int(try masters[0].command("CLUSTER", "KEYSLOT", name)) ?? 0
                // The same slot may have been moved for the name before.
                guard try redis.master(ofSlot: slot, asking: masters[0]) === masters[0] else {
                    continue
                }
                try redis.beginMove(ofSlot: slot, from: masters[0], to: masters[1])
                run.ledger.wait(actions: 20, until: Date(timeIntervalSinceNow: 0.3))
                try redis.moveKeys(ofSlot: slot, from: masters[0], to: masters[1])
                run.ledger.wait(actions: 20, until: Date(timeIntervalSinceNow: 0.3))
                // What was written meanwhile; then the slot is the other's.
                try redis.moveKeys(ofSlot: slot, from: masters[0], to: masters[1])
                try redis.endMove(ofSlot: slot, to: masters[1])
            }
        }

        @Test("masters killed and replaced by replicas that lag, slots moved")
        func cluster() throws {
            let addresses = redis.addresses.map { "\"\($0)\"" }.joined(separator: ", ")
            let site = try FaultSite(
                counters: "{ redis: { cluster: { addresses: [\(addresses)] }, \(patience) } }",
                admitsPhones: true)
            site.configuration.workers = 2
            let gateways = [try site.start(), try site.start()]
            try FaultRun("cluster", site, gateways).run([
                Fault("kill -9 of a master", killMaster),
                Fault("forced failover to a replica that lags", takeOver),
                Fault("slots moved", moveSlots),
                Fault("SIGSTOP of a master") { run in
                    let master = try anyMaster(run)
                    master.stop()
                    run.hold()
                    master.resume()
                    try redis.waitUntilFollowed()
                },
                Fault("FLUSHALL of a master") { try anyMaster($0).command("FLUSHALL") },
            ])
        }
    }
}
