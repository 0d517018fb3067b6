import Foundation
import GatewayTesting
import Testing

extension FaultTests {
    @Suite("of clocks", .enabled(if: SteppedClock.isPossible))
    struct Clocks {
        private let redis: RedisServer
        private let site: FaultSite
        private let clocks: [SteppedClock]
        private let redisClock: SteppedClock
        private let directory: ScratchDirectory

        init() throws {
            let directory = try ScratchDirectory()
            self.directory = directory
            redisClock = try SteppedClock("redis", in: directory)
            let redis = try RedisServer(launcher: redisClock.launcher)
            let site = try FaultSite(counters: impatient(redis.port), admitsPhones: true)
            self.redis = redis
            self.site = site
            clocks = try ["first", "second"].map { try SteppedClock($0, in: site.directory) }
        }

        private func step(_ seconds: ClosedRange<Int>, _ name: String) -> Fault {
            Fault(name) { run in
                let index = Int.random(in: clocks.indices, using: &run.generator)
                try clocks[index].set(Int.random(in: seconds, using: &run.generator))
                run.hold()
                run.replayRecent()
                try clocks[index].set(0)
            }
        }

        /// Redis' own clock, by so much, and back again.
        private func stepRedis(_ seconds: ClosedRange<Int>, _ name: String) -> Fault {
            Fault(name) { run in
                try redisClock.set(Int.random(in: seconds, using: &run.generator))
                run.hold()
                run.replayRecent()
                try redisClock.set(0)
                run.replayRecent()
            }
        }

        /// Both clocks, the data and a gateway, all at once.
        private var everything: Fault {
            Fault("clocks, flush and kill -9 at once") { run in
                let gateway = run.anyGateway()
                try clocks[0].set(Int.random(in: -600...600, using: &run.generator))
                try redisClock.set(Int.random(in: -600...600, using: &run.generator))
                if Bool.random(using: &run.generator) { try redis.command("FLUSHALL") }
                try gateway.kill()
                run.replayRecent()
                try redisClock.set(0)
                try gateway.start()
                try clocks[0].set(0)
                run.replayRecent()
            }
        }

        @Test("a clock that is set is another time of day, to the gateway")
        func isSet() throws {
            try clocks[0].set(-3600)
            let words = clocks[0].launcher + ["date", "+%s"]
            let said = try ChildProcess.run(words[0], Array(words.dropFirst())).standardOutput
            let seconds = try #require(TimeInterval(said.trimmingCharacters(in: .newlines)))
            #expect(seconds < Date().timeIntervalSince1970 - 1800)
        }

        @Test("set back again and again makes no challenge young")
        func setBack() throws {
            let site = try FaultSite(admitsPhones: true)
            let gateway = try GatewayProcess(
                site.configuration, directory: site.directory, launcher: clocks[0].launcher)
            let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
            try (text + "challenge: { ttl: 5s }\n").write(
                toFile: gateway.configurationPath, atomically: true, encoding: .utf8)
            try gateway.restart()
            let devices = try site.enrolledDevices(at: gateway)
            let calls = try devices.map { try $0.call("strict", at: gateway) }
            for call in calls { #expect(try call.exchange(with: gateway).status == 200) }
            for step in 1...3 {
                try clocks[0].set(-140 * step)
                for call in calls { #expect(try call.exchange(with: gateway).status == 401) }
            }
            for device in devices {
                let next = try device.call("strict", at: gateway)
                #expect(try next.exchange(with: gateway).status == 200)
            }
        }

        @Test("of a gateway with counters of its own, set forward and back, stopped and killed")
        func embedded() throws {
            let site = try FaultSite(admitsPhones: true)
            let gateway = try GatewayProcess(
                site.configuration, directory: site.directory, launcher: clocks[0].launcher)
            try FaultRun("clocks, embedded counters", site, [gateway]).run([
                step(-20 ... -1, "clock back by seconds"), step(1...20, "clock ahead by seconds"),
                step(-3600 ... -130, "clock back by minutes"),
                step(130...3600, "clock ahead by minutes"),
                .killGateway(), .terminateGateway(), .upgradeGateway(),
            ])
        }

        @Test("set forward and back, by seconds and by more than a challenge lives")
        func steps() throws {
            let gateways = try clocks.map { clock in
                try GatewayProcess(
                    site.configuration, directory: site.directory, launcher: clock.launcher)
            }
            try FaultRun("clocks", site, gateways).run([
                step(-20 ... -1, "clock back by seconds"), step(1...20, "clock ahead by seconds"),
                step(-600 ... -130, "clock back by minutes"),
                step(130...600, "clock ahead by minutes"),
                stepRedis(-600 ... -10, "Redis' clock back"),
                stepRedis(1...600, "Redis' clock ahead"),
                stepRedis(2_764_800...2_764_900, "Redis' clock ahead by 32 days"),
                everything, .flush(redis), .killGateway(),
            ])
        }
    }
}
