import Foundation
import GatewayTesting
import Testing

/// `DECISION_HISTORIES=2000` plays as many, `DECISION_SEED=17` those from there on, and
/// `DECISION_FOLDER` keeps their transcripts.
private let environment = ProcessInfo.processInfo.environment
private let historyCount = environment["DECISION_HISTORIES"].flatMap(Int.init) ?? 40
private let firstSeed = environment["DECISION_SEED"].flatMap(UInt64.init) ?? 1

/// Shares of the histories that are played side by side.
private let shareCount = 4

@Suite("Decisions and their model", .timeLimit(.minutes(60)))
struct DecisionModelTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Assurance").path
    private static let stepCount = 250

    /// Plays the histories of a share, and returns where their transcripts are.
    private static func play(share: Int, in folder: String) throws -> [String] {
        let seeds = firstSeed..<firstSeed + UInt64(historyCount)
        return try seeds.filter { $0 % UInt64(shareCount) == UInt64(share) }.map { seed in
            let history = try DecisionHistory(seed: seed)
            try history.run(stepCount: stepCount)
            let path = "\(folder)/\(seed).jsonl"
            try history.write(to: path)
            return path
        }
    }

    private static func run(
        _ script: String, _ arguments: [String]
    ) throws -> ChildProcess.Outcome {
        try ChildProcess.run("python3", ["-B", "\(folder)/\(script)"] + arguments)
    }

    @Test(
        "the gateway decides about each request of a history as the model does, and why",
        arguments: 0..<shareCount)
    func agreement(share: Int) throws {
        let scratch = try ScratchDirectory()
        let paths = try Self.play(
            share: share, in: environment["DECISION_FOLDER"] ?? scratch.path)
        let outcome = try Self.run("decision_model.py", paths)
        #expect(
            outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        // Histories in which nobody is accepted, or all are, show nothing.
        for word in [
            "verified ok", "refused assertion_replayed counter_conflict",
            "refused assertion_replayed counter_too_low", "refused challenge_expired incarnation",
            "refused key_revoked", "observed challenge_required", "tolerated", " 0 differences\n",
        ] { #expect(outcome.standardOutput.contains(word), "\(word)") }
    }

    @Test("a model that lacks a comparison is found out")
    func mutants() throws {
        let scratch = try ScratchDirectory()
        let paths = try Self.play(share: 0, in: scratch.path)
        // So few histories do not reach all of them: `make decision-model` plays more.
        let outcome = try Self.run("model_mutants.py", ["--allowed", "15"] + paths)
        #expect(
            outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }
}
