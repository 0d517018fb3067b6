import Foundation
import Testing

/// `SIMULATION_SEEDS=5000` tries as many, `SIMULATION_SEED=17` one.
private let seeds: [UInt64] = {
    let environment = ProcessInfo.processInfo.environment
    if let one = environment["SIMULATION_SEED"].flatMap(UInt64.init) { return [one] }
    let count = environment["SIMULATION_SEEDS"].flatMap(UInt64.init) ?? 200
    return Array(1...count)
}()

/// Shares of the seeds that are tried side by side.
private let shareCount = 4

@Suite("Two gateways and a store that fails, from a seed", .timeLimit(.minutes(60)))
struct SimulationTests {}

extension SimulationTests {
    private static let stepCount = 150

    @Test(
        "nothing is accepted twice, nobody is shut out", arguments: StoreKind.allCases,
        0..<shareCount)
    func neverTwice(kind: StoreKind, share: Int) throws {
        let seeds = seeds.filter { $0 % UInt64(shareCount) == UInt64(share) }
        var forwardedCount = 0
        var phoneCount = 0
        var refusedCount = 0
        for seed in seeds {
            let world = try World(seed: seed, kind)
            try world.run(stepCount: Self.stepCount)
            forwardedCount += world.ledger.forwardedCount
            phoneCount += world.ledger.forwardedPhoneCount
            refusedCount += world.ledger.replayRefusedCount
            guard world.ledger.violations.isEmpty else {
                let trace = world.trace.suffix(60).joined(separator: "\n")
                Issue.record("SIMULATION_SEED=\(seed): \(world.ledger.violations)\n\(trace)")
                return
            }
        }
        // A simulation in which nothing happens shows nothing.
        #expect(forwardedCount >= 6 * seeds.count)
        #expect(phoneCount >= 2 * seeds.count)
        #expect(refusedCount >= 2 * seeds.count)
    }

    @Test("a seed does the same each time", arguments: [3, 4, 5] as [UInt64])
    func sameAgain(seed: UInt64) throws {
        let worlds = try (0..<2).map { _ in
            let world = try World(seed: seed, .redis)
            try world.run(stepCount: Self.stepCount)
            return world.trace
        }
        #expect(worlds[0] == worlds[1])
    }

    @Test("a gateway that lacks a part is found out", arguments: Canary.allCases.dropFirst())
    func canary(_ canary: Canary) throws {
        for seed in 1...400 as ClosedRange<UInt64> {
            let world = try World(
                seed: seed, canary == .oldSnapshot ? .embedded : .redis, canary: canary)
            try world.run(stepCount: Self.stepCount)
            if !world.ledger.violations.isEmpty { return }
        }
        Issue.record("\(canary): 400 seeds have found nothing")
    }
}
