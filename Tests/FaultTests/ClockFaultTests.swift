import Foundation
import GatewayTesting
import Testing

extension FaultTests {
    @Suite("of clocks", .enabled(if: SteppedClock.isPossible))
    struct Clocks {
        private let redis: RedisServer
        private let site: FaultSite
        private let clocks: [SteppedClock]

        init() throws {
            let redis = try RedisServer()
            let site = try FaultSite(counters: impatient(redis.port))
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

        @Test("a clock that is set is another time of day, to the gateway")
        func isSet() throws {
            try clocks[0].set(-3600)
            let words = clocks[0].launcher + ["date", "+%s"]
            let said = try ChildProcess.run(words[0], Array(words.dropFirst())).standardOutput
            let seconds = try #require(TimeInterval(said.trimmingCharacters(in: .newlines)))
            #expect(seconds < Date().timeIntervalSince1970 - 1800)
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
                .flush(redis), .killGateway(),
            ])
        }
    }
}
