import Bytes
import Testing

@testable import Gateway

/// One device that signs for many is found, and people on the move are not, at the limits that the
/// reference recommends.
@Suite("Brokers and roamers, simulated", .timeLimit(.minutes(30)))
struct KeyUseSimulationTests {}

extension KeyUseSimulationTests {
    private static let clientCount = 500
    private static let signals = [
        "users_per_key", "addresses_per_key", "networks_per_key", "counter_gaps",
    ]

    /// A day of more keys than the memory has places for, each with a few addresses, and of one
    /// device that signs for 500 clients at home.
    @Test("one device for 500 clients raises every signal within its window", arguments: [1, 2, 3])
    func broker(seed: UInt64) throws {
        let simulation = try KeyUseSimulation()
        var numbers = SeededNumbers(seed: seed)
        var roamers = (1...20_000 as ClosedRange<UInt64>).map { Roamer($0, seed: seed) }
        var brokered: UInt32 = 0
        var foundAfter: [String: UInt64] = [:]
        let start = simulation.now
        let requestCount = 15_000
        for index in 0..<requestCount {
            simulation.now =
                start + 24 * KeyUseSimulation.hour / UInt64(requestCount) * UInt64(index)
            // Each client has a request every second hour, and others beside that go elsewhere.
            if numbers.below(requestCount) < Self.clientCount * 12 {
                brokered += 2
                let client = UInt64(numbers.below(Self.clientCount))
                let request = KeyUseSimulation.Request(
                    key: 0, user: .max - client,
                    address: KeyUseSimulation.ipv4(
                        UInt32(truncatingIfNeeded: KeyHash.mixed(client &+ seed << 32))),
                    counter: brokered)
                for name in simulation.raised(by: request) where foundAfter[name] == nil {
                    foundAfter[name] = simulation.now - start
                }
            }
            let chosen = numbers.below(roamers.count)
            let hour = index * 24 / requestCount
            for request in roamers[chosen].requests(inHour: hour, &numbers) {
                let raised = simulation.raised(by: request)
                if !raised.isEmpty { Issue.record("seed \(seed): \(raised) by \(request)") }
            }
        }
        for name in Self.signals {
            let hours = foundAfter[name].map { Double($0) / Double(KeyUseSimulation.hour) }
            print("seed \(seed): \(name) after \(hours.map { "\($0)" } ?? "never") h")
            #expect(hours.map { $0 < 24 } == true, "seed \(seed): \(name)")
        }
    }

    /// Of 100,000 the most restless and a share of the rest live their week hour by hour: others
    /// cannot count more than these.
    @Test("100,000 roamers behind carriers' NAT raise nothing in a week", arguments: [1])
    func roamers(seed: UInt64) throws {
        let simulation = try KeyUseSimulation()
        let all = (1...100_000 as ClosedRange<UInt64>).map { Roamer($0, seed: seed) }
        let byRestlessness = all.sorted { $0.restlessness > $1.restlessness }
        var chosen = Array(byRestlessness.prefix(150))
        chosen += stride(from: 150, to: byRestlessness.count, by: 650).map { byRestlessness[$0] }
        var numbers = SeededNumbers(seed: seed)
        let start = simulation.now
        var flagged: Set<UInt64> = []
        for hour in 0..<7 * 24 {
            simulation.now = start + UInt64(hour) * KeyUseSimulation.hour
            for index in chosen.indices {
                for request in chosen[index].requests(inHour: hour, &numbers) {
                    let raised = simulation.raised(by: request)
                    if !raised.isEmpty {
                        flagged.insert(request.key)
                        Issue.record("seed \(seed), hour \(hour): \(raised) by \(chosen[index])")
                    }
                }
            }
        }
        print("seed \(seed): at most \(simulation.highest)")
        #expect(flagged.isEmpty)
        #expect(chosen.count == 304)
    }
}
