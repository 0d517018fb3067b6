import EventLoop
import Foundation
import GatewayTesting
import RedisKeyStore
import Testing

/// `CLUSTER_WAYS=200` takes as many ways, `CLUSTER_SEED=17` those from there on.
private let environment = ProcessInfo.processInfo.environment
private let wayCount = environment["CLUSTER_WAYS"].flatMap { Int($0) } ?? 6
private let firstSeed = environment["CLUSTER_SEED"].flatMap { Int($0) } ?? 1
private let isLong = environment["CLUSTER_WAYS"] != nil
private let hasSpin = (try? ChildProcess.run("spin", ["-V"]))?.status == .exited(0)

@Suite("The faults planted in the scripts of a cluster")
struct PlantedFaultTests {}

extension PlantedFaultTests {
    @Test("find the words that they turn", arguments: ClusterFault.allCases)
    func words(_ fault: ClusterFault) throws {
        let isInScript = fault != .epoch
        #expect(try (fault.script() != CounterScript.source) == isInScript)
    }
}

@Suite(
    "The scripts and the model of a cluster",
    // All faults at once would be 120 servers.
    .serialized,
    .enabled(if: isLong && RedisServer.isInstalled && hasSpin),
    .timeLimit(.minutes(120)))
struct ClusterModelTests {}

extension ClusterModelTests {
    private static let model = Repository.path(of: "docs/proof/models/cluster.pml")
    /// Of clusters that are replayed side by side: servers mostly wait for one another.
    private static let laneCount = 6

    /// The steps of a way that spin takes by chance.
    private static func way(seed: Int, lacking: [String] = []) throws -> [[String]] {
        let scratch = try ScratchDirectory()
        let outcome = try ChildProcess.run(
            "spin",
            ["-T", "-n\(seed)", "-u2500", "-DTRACE", "-DFAULTS=6"] + lacking.map { "-D\($0)" }
                + [model], workingDirectory: scratch.path)
        try #require(outcome.status == .exited(0), "\(outcome.standardError)")
        return outcome.standardOutput.split(separator: "\n")
            .prefix { !$0.hasPrefix("----") && $0 != "timeout" }
            .map { $0.split(separator: " ").map(String.init) }
    }

    /// The first disagreement on any of the ways, and what was in those that were taken.
    private static func replay(
        _ ways: [(seed: Int, steps: [[String]])], fault: ClusterFault? = nil
    ) throws -> (found: String?, counts: ClusterCounts) {
        struct State {
            var next = 0
            var found: String?
            var counts = ClusterCounts()
        }
        let state = Locked(State())
        let group = DispatchGroup()
        for _ in 0..<min(laneCount, ways.count) {
            group.enter()
            Thread.detachNewThread {
                defer { group.leave() }
                while true {
                    let way = state.withLock { state -> (seed: Int, steps: [[String]])? in
                        guard state.found == nil, state.next < ways.count else { return nil }
                        state.next += 1
                        return ways[state.next - 1]
                    }
                    guard let way else { return }
                    do {
                        let replay = try ClusterReplay(fault: fault)
                        let found = try replay.disagreement(on: way.steps)
                        state.withLock { [counts = replay.counts] state in
                            state.counts.add(counts)
                            if let found { state.found = "seed \(way.seed), \(found)" }
                        }
                    } catch {
                        state.withLock { $0.found = "seed \(way.seed): \(error)" }
                    }
                }
            }
        }
        group.wait()
        return state.withLock { ($0.found, $0.counts) }
    }

    @Test("accept and refuse the same calls, under the same incarnations, and for the same reason")
    func agreement() throws {
        let ways = try (firstSeed..<firstSeed + wayCount).map {
            (seed: $0, steps: try Self.way(seed: $0))
        }
        let (found, counts) = try Self.replay(ways)
        #expect(found == nil)
        let steps = counts.steps.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        print("\(ways.count) ways, \(counts.lateCount) too late: \(steps.joined(separator: ", "))")
        // Ways on which nothing happens show nothing.
        for step in [
            "spend accepted", "spend incarnation", "spend spent", "count accepted", "move", "flush",
            "promote", "restart dump", "restart empty",
        ] { #expect(counts.steps[step, default: 0] > 0, "\(step)") }
    }

    @Test(
        "differ where a script lacks a comparison",
        arguments: isLong ? ClusterFault.allCases : [.incarnation])
    func turned(_ fault: ClusterFault) throws {
        let ways = try (1...(isLong ? 30 : 6)).map { (seed: $0, steps: try Self.way(seed: $0)) }
        let (found, _) = try Self.replay(ways, fault: fault)
        let words = try #require(found, "\(fault): nobody notices")
        #expect(words.contains(", step "), "\(words)")
        print("\(fault): \(words)")
    }
}
