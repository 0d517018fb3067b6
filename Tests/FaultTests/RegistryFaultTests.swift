import Foundation
import GatewayTesting
import Testing

extension FaultTests {
    /// Two gateways, each with its own way to one PostgreSQL, and one Redis.
    @Suite("of PostgreSQL", .enabled(if: PostgresServer.isInstalled))
    struct Registry {
        private let postgres: PostgresServer
        private let redis: RedisServer
        private let relays: [CuttingRelay]

        init() throws {
            let postgres = try PostgresServer()
            self.postgres = postgres
            redis = try RedisServer()
            relays = try (0..<2).map { _ in try CuttingRelay(to: postgres.port) }
        }

        private func start(_ site: FaultSite) throws -> [GatewayProcess] {
            let keys = try site.directory.write(
                Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString() + "\n",
                to: "challenge-keys")
            site.configuration.more.append("secrets: { challenge_key_file: \(keys) }")
            let url = postgres.url(try postgres.makeDatabase())
            return try relays.map { relay in
                let relayed = url.replacingOccurrences(
                    of: ":\(postgres.port)/", with: ":\(relay.port)/")
                site.configuration.registry = """
                    postgres: "\(relayed)", pool: 2, connect_timeout: 1s, command_timeout: 500ms
                    """
                return try site.start()
            }
        }

        private func during(_ weather: CuttingRelay.Weather, _ name: String) -> Fault {
            Fault(name) { run in
                let index = Int.random(in: relays.indices, using: &run.generator)
                relays[index].set(weather)
                defer { relays[index].set(.clear) }
                run.hold()
            }
        }

        @Test("killed, stopped, restarted and cut off while keys are enrolled and revoked")
        func registry() throws {
            let site = try FaultSite(counters: impatient(redis.port), admitsPhones: true)
            let gateways = try start(site)
            try FaultRun("PostgreSQL", site, gateways).run([
                Fault("kill -9 of PostgreSQL") { run in
                    try postgres.kill()
                    if Bool.random(using: &run.generator) { run.hold() }
                    try postgres.start()
                },
                Fault("SIGSTOP of PostgreSQL") { run in
                    postgres.stop()
                    run.hold()
                    postgres.resume()
                },
                Fault("restart of PostgreSQL") { _ in
                    try postgres.terminate()
                    try postgres.start()
                },
                during(.silent, "partition"),
                during(.answersHeld, "answers held"),
                during(.refusing, "connections refused"),
                .flush(redis), .killGateway(), .stopGateway(),
            ])
        }
    }
}
