import Foundation
import GatewayTesting
import Testing

extension RedisSentinelSet {
    /// The server that all Sentinels name and that takes itself for the master; they may still be
    /// about to choose another one.
    func agreedMaster() throws -> RedisServer {
        let limit = ChildProcess.deadline
        while Date() < limit {
            let named = try sentinels.indices.map { try master($0) }
            if let master = named[0], named.allSatisfy({ $0 === master }),
                try master.command("ROLE").hasPrefix("master")
            {
                return master
            }
            _ = poll(nil, 0, 20)
        }
        throw FaultSiteError("no master")
    }
}

extension FaultTests {
    /// A master, two replicas, three Sentinels.
    @Suite("of a master that others watch")
    struct Sentinel {
        private let redis: RedisSentinelSet

        init() throws { redis = try RedisSentinelSet() }

        /// Replicas hear nothing for a moment, and then one of them takes over.
        private func lag(_ run: FaultRun, behind master: RedisServer) {
            let replicas = redis.servers.filter { $0 !== master }
            for replica in replicas { replica.stop() }
            // Shorter than what takes Sentinels to believe that they are gone.
            run.ledger.wait(actions: 20, until: Date(timeIntervalSinceNow: 0.3))
            for replica in replicas { replica.resume() }
        }

        /// Makes the set whole.
        private func rejoin(_ run: FaultRun) throws {
            run.hold()
            try redis.rejoin(try redis.agreedMaster())
        }

        private func killMaster(_ run: FaultRun, lagging: Bool) throws {
            let old = try redis.agreedMaster()
            if lagging { lag(run, behind: old) }
            try old.kill()
            try redis.waitForMaster(other: old)
            // It comes back empty, and takes itself for a master.
            try old.start()
            try rejoin(run)
        }

        @Test("killed, stopped while another is promoted, replaced by a replica that lags")
        func failover() throws {
            let addresses = redis.addresses.map { "\"\($0)\"" }.joined(separator: ", ")
            let site = try FaultSite(
                counters: """
                    { redis: { sentinel: { addresses: [\(addresses)], \
                    master: \(RedisSentinelSet.masterName) }, \(patience) } }
                    """, admitsPhones: true)
            site.configuration.workers = 2
            let gateways = [try site.start(), try site.start()]
            try FaultRun("Sentinels", site, gateways).run([
                Fault("kill -9 of the master") { try killMaster($0, lagging: false) },
                Fault("kill -9 of the master, replicas lag") { try killMaster($0, lagging: true) },
                Fault("SIGSTOP of the master, another is promoted") { run in
                    let old = try redis.agreedMaster()
                    old.stop()
                    do {
                        try redis.waitForMaster(other: old)
                    } catch {
                        old.resume()
                        throw error
                    }
                    // Now there are two.
                    old.resume()
                    try rejoin(run)
                },
                Fault("forced failover") { run in
                    let old = try redis.agreedMaster()
                    lag(run, behind: old)
                    try redis.failOver()
                    try rejoin(run)
                },
                Fault("restart of a Sentinel") { run in
                    let count = redis.sentinels.count
                    let index = Int.random(in: 0..<count, using: &run.generator)
                    try redis.sentinels[index].restart()
                },
            ])
        }
    }
}
