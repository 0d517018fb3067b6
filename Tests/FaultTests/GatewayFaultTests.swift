import Foundation
import GatewayTesting
import JSON
import SQLite
import Testing

/// Each scenario of `Tests/FaultTests` is one test; they take turns, since each fills the machine.
@Suite(
    "Faults", .serialized, .enabled(if: BuiltProgram.isBuilt && RedisServer.isInstalled),
    .timeLimit(.minutes(60)))
enum FaultTests {}

extension Fault {
    static func killGateway() -> Fault {
        Fault("kill -9 of a gateway") { run in
            let gateway = run.anyGateway()
            try gateway.kill()
            if Bool.random(using: &run.generator) { run.hold() }
            try gateway.start()
        }
    }

    static func terminateGateway() -> Fault {
        Fault("end of a gateway") { run in
            let gateway = run.anyGateway()
            #expect(try gateway.terminate() == .exited(0))
            try gateway.start()
        }
    }

    static func upgradeGateway() -> Fault {
        Fault("upgrade of a gateway") { run in
            let gateway = run.anyGateway()
            let index = gateway.current.lines(on: .standardError).count
            gateway.current.send(signal: SIGUSR2)
            try gateway.waitForEvent("ready", from: index)
        }
    }

    static func stopGateway() -> Fault {
        Fault("SIGSTOP of a gateway") { run in
            let process = run.anyGateway().current
            run.ledger.standingStill {
                process.stop()
                run.hold()
                process.resume()
            }
        }
    }

    /// Another process holds the write lock of the registry's file.
    static func lockRegistry() -> Fault {
        Fault("lock of the registry") { run in
            let other = try Connection(path: run.site.directory.path(of: "registry.db"))
            try other.begin(.immediate)
            run.hold()
            other.rollback()
        }
    }
}

extension FaultTests {
    @Suite("of gateways")
    struct Gateways {
        @Test("with counters of its own, killed, stopped and reloaded, its registry locked")
        func embedded() throws {
            let site = try FaultSite(admitsPhones: true)
            site.configuration.workers = 2
            let gateway = try site.start()
            var extended = site.configuration
            extended.routes.append(.init("extra", path: "/extra"))
            let configurations = [site.configuration, extended]
            let reload = Fault("reload") { run in
                let configuration = configurations.randomElement(using: &run.generator)
                let event = try gateway.reload(configuration ?? extended)
                #expect(event["event"]?.stringValue == "reloaded")
            }
            try FaultRun("embedded counters", site, [gateway]).run([
                .killGateway(), .terminateGateway(), .stopGateway(), .upgradeGateway(), reload,
                .lockRegistry(),
            ])
        }

        @Test("two on one Redis, killed and stopped")
        func shared() throws {
            let redis = try RedisServer()
            let site = try FaultSite(counters: impatient(redis.port), admitsPhones: true)
            site.configuration.workers = 2
            let gateways = [try site.start(), try site.start()]
            try FaultRun("two gateways", site, gateways, keepsCounters: true).run([
                .killGateway(), .terminateGateway(), .stopGateway(), .upgradeGateway(),
            ])
        }
    }
}

/// `counters` that notice soon when their Redis is not there.
func impatient(_ port: UInt16) -> String {
    """
    { redis: "redis://127.0.0.1:\(port)/0", \(patience) }
    """
}

let patience = "command_timeout: 100ms, connect_timeout: 200ms"
