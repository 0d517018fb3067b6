import Foundation
import GatewayTesting
import Testing

extension FaultTests {
    /// A relay stands between each gateway and what it talks to.
    @Suite("of the network")
    struct Network {
        private let redis: RedisServer
        private let relays: [CuttingRelay]
        private let site: FaultSite
        private let gateways: [GatewayProcess]

        init() throws {
            let redis = try RedisServer()
            let relays = try (0..<2).map { _ in try CuttingRelay(to: redis.port) }
            let site = try FaultSite(admitsPhones: true)
            site.configuration.workers = 2
            // In a long run what was spent is also forgotten in time.
            site.configuration.more.append("challenge: { ttl: 10s }")
            self.redis = redis
            self.relays = relays
            self.site = site
            gateways = try relays.map { relay in
                site.configuration.counters = impatient(relay.port)
                return try site.start()
            }
        }

        private func anyRelay(_ run: FaultRun) -> CuttingRelay {
            relays[Int.random(in: relays.indices, using: &run.generator)]
        }

        /// The weather lasts for a while.
        private func during(
            _ weather: CuttingRelay.Weather, _ name: String,
            then act: @escaping () throws -> Void = {}
        ) -> Fault {
            Fault(name) { run in
                let relay = anyRelay(run)
                relay.set(weather)
                defer { relay.set(.clear) }
                run.hold()
                try act()
            }
        }

        /// Something happens to one connection, three times.
        private func once(_ weather: CuttingRelay.Weather, _ name: String) -> Fault {
            Fault(name) { run in
                let relay = anyRelay(run)
                defer { relay.set(.clear) }
                for _ in 0..<3 {
                    let count = relay.injectedCount + 1
                    relay.set(weather)
                    let limit = ChildProcess.deadline
                    guard relay.waitForInjection(count, until: limit) else {
                        throw FaultSiteError("nothing came by to be cut")
                    }
                }
            }
        }

        @Test("partitions, delays, connections cut before, inside and after a command")
        func cut() throws {
            try FaultRun("a cutting network", site, gateways).run([
                during(.silent, "partition"),
                during(.silent, "requests held across a FLUSHALL") {
                    try redis.command("FLUSHALL")
                },
                during(.silent, "requests held across a restart") { try redis.restart() },
                during(.answersHeld, "answers held"),
                during(.refusing, "connections refused"),
                during(.slow(150), "delays"),
                once(.cutBeforeAnswer, "cut after a command"),
                once(.cutInsideAnswer, "cut inside a reply"),
                once(.cutInsideRequest, "cut inside a command"),
                Fault("connections closed") { run in anyRelay(run).cut() },
            ])
        }

        @Test("connections that are doubled: each command arrives twice")
        func doubled() throws {
            // Whichever came second is a replay, and its answer may be the one that is heard.
            let run = FaultRun(
                "doubled connections", site, gateways, allowed: ["401 assertion_replayed"])
            try run.run([
                during(.doubled, "doubled connections"),
                during(.doubled, "doubled across a FLUSHALL") { try redis.command("FLUSHALL") },
            ])
        }
    }
}
