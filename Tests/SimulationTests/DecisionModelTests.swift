import Foundation
import GatewayTesting
import Testing

/// `DECISION_HISTORIES=2000` plays as many, `DECISION_REDIS_HISTORIES=200` so many with a real
/// Redis, `DECISION_SEED=17` those from there on, and `DECISION_FOLDER` keeps their transcripts.
private let environment = ProcessInfo.processInfo.environment
private let firstSeed = environment["DECISION_SEED"].flatMap(UInt64.init) ?? 1

/// Shares of the histories that are played side by side.
private let shareCount = 4

@Suite("Decisions and their model", .timeLimit(.minutes(60)))
struct DecisionModelTests {}

extension DecisionModelTests {
    enum Counters: String, CaseIterable {
        case embedded
        case redis

        var historyCount: UInt64 {
            switch self {
            case .embedded: environment["DECISION_HISTORIES"].flatMap(UInt64.init) ?? 40
            case .redis: environment["DECISION_REDIS_HISTORIES"].flatMap(UInt64.init) ?? 20
            }
        }
    }

    private static let folder = Repository.path(of: "Tests/Assurance")
    private static let stepCount = 250

    /// Plays the histories of a share, and returns where their transcripts are.
    private static func play(
        _ counters: Counters, share: Int, in folder: String
    ) throws -> [String] {
        let seeds = firstSeed..<firstSeed + counters.historyCount
        let scratch = try ScratchDirectory()
        let clock = counters == .redis ? try StandingClock(in: scratch) : nil
        return try seeds.filter { $0 % UInt64(shareCount) == UInt64(share) }.map { seed in
            let history = try DecisionHistory(seed: seed, redisClock: clock)
            try history.run(stepCount: stepCount)
            let path = "\(folder)/\(counters.rawValue)-\(seed).jsonl"
            try history.write(to: path)
            return path
        }
    }

    private static func run(
        _ script: String, _ arguments: [String]
    ) throws -> ChildProcess.Outcome {
        try ChildProcess.run(
            PythonInterpreter.debian.path, ["-B", "\(folder)/\(script)"] + arguments,
            within: .seconds(600))
    }

    private func compare(_ counters: Counters, share: Int, expecting words: [String]) throws {
        let scratch = try ScratchDirectory()
        let paths = try Self.play(
            counters, share: share, in: environment["DECISION_FOLDER"] ?? scratch.path)
        guard !paths.isEmpty else { return }
        let outcome = try Self.run("decision_model.py", paths)
        #expect(
            outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        // Histories in which nobody is accepted, or all are, show nothing.
        for word in words + ["verified ok", "refused key_revoked", " 0 differences\n"] {
            #expect(outcome.standardOutput.contains(word), "\(word)")
        }
    }

    @Test(
        "the gateway decides about each request of a history as the model does, and why",
        arguments: 0..<shareCount)
    func agreement(share: Int) throws {
        try compare(
            .embedded, share: share,
            expecting: [
                "refused assertion_replayed counter_conflict",
                "refused assertion_replayed counter_too_low",
                "refused challenge_expired incarnation", "observed challenge_required", "tolerated",
                "refused token_invalid",
            ])
    }

    @Test(
        "so do two gateways with a Redis that fails, forgets and comes back with older data",
        .enabled(if: RedisServer.isInstalled && SteppedClock.isPossible),
        arguments: 0..<shareCount)
    func agreementWithRedis(share: Int) throws {
        try compare(
            .redis, share: share,
            expecting: [
                "refused store_unavailable counters", "refused challenge_expired incarnation",
                "refused challenge_expired age", "unjudged store_unavailable",
            ])
    }

    @Test("a model that lacks a comparison is found out")
    func mutants() throws {
        let scratch = try ScratchDirectory()
        var paths = try Self.play(.embedded, share: 0, in: scratch.path)
        if RedisServer.isInstalled, SteppedClock.isPossible {
            paths += try Self.play(.redis, share: 0, in: scratch.path)
        }
        // So few histories do not reach all of them: `make decision-model` plays more.
        let outcome = try Self.run("model_mutants.py", ["--allowed", "30"] + paths)
        #expect(
            outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test("the gateway has every comparison that is turned in its mutants")
    func gatewayMutants() throws {
        let outcome = try Self.run("gateway_mutants.py", ["--check"])
        #expect(
            outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }
}
