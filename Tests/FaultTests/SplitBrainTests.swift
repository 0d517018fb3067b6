import Foundation
import GatewayTesting
import Testing

extension FaultTests {
    @Suite("of two masters")
    struct SplitBrain {
        private let servers: [RedisServer]
        /// What each gateway takes for the master.
        private let names: [CuttingRelay]
        /// Between a replica and its master, to make it lag.
        private let replication: CuttingRelay

        init() throws {
            let servers = [try RedisServer(), try RedisServer()]
            self.servers = servers
            names = try (0..<2).map { _ in try CuttingRelay(to: servers[0].port) }
            replication = try CuttingRelay(to: servers[0].port)
        }

        private func follow(_ replica: RedisServer, _ master: RedisServer) throws {
            replication.set(.clear)
            replication.turn(to: master.port)
            try replica.command("REPLICAOF", "127.0.0.1", "\(replication.port)")
            try waitForReplica(replica)
        }

        /// Redis tells nobody when a replica has caught up.
        private func waitForReplica(_ replica: RedisServer) throws {
            let limit = ChildProcess.deadline
            while try !replica.command("INFO", "replication").contains("master_link_status:up") {
                guard Date() < limit else { throw FaultSiteError("no replication") }
                _ = poll(nil, 0, 10)
            }
        }

        /// Each gateway writes to a master of its own, for a while.
        private func split(_ run: FaultRun, keepsConnections: Bool) throws {
            let (old, new) = try roles()
            replication.set(.silent)
            run.hold()
            let moved = Int.random(in: 0..<2, using: &run.generator)
            // A name may change before the replica knows that it is a master.
            let isEarly = Bool.random(using: &run.generator)
            if isEarly { names[moved].turn(to: new.port) }
            try new.command("REPLICAOF", "NO", "ONE")
            names[moved].turn(to: new.port)
            if !keepsConnections { names[moved].cut() }
            run.hold()
            run.replayRecent()
            if keepsConnections { names[moved].cut() }
            run.hold()
            run.replayRecent()
            // One of them wins; what the other one has accepted is forgotten.
            let newWins = Bool.random(using: &run.generator)
            let (winner, loser) = newWins ? (new, old) : (old, new)
            for name in names { name.turn(to: winner.port) }
            try follow(loser, winner)
            run.hold()
            for name in names { name.cut() }
        }

        private func roles() throws -> (master: RedisServer, replica: RedisServer) {
            let isFirst = try servers[0].command("ROLE").hasPrefix("master")
            return isFirst ? (servers[0], servers[1]) : (servers[1], servers[0])
        }

        @Test("one gateway on the old master, one on its promoted replica that lagged")
        func split() throws {
            try follow(servers[1], servers[0])
            let site = try FaultSite(admitsPhones: true)
            site.configuration.workers = 2
            let gateways = try names.map { name in
                site.configuration.counters = impatient(name.port)
                return try site.start()
            }
            try FaultRun("split brain", site, gateways).run([
                Fault("split brain") { try split($0, keepsConnections: false) },
                Fault("split brain inside a gateway") { try split($0, keepsConnections: true) },
            ])
        }
    }
}
