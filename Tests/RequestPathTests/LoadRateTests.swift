import Foundation
import GatewayTesting
import Testing

/// The load generator of the benchmarks.
@Suite("The load generator", .enabled(if: BuiltProgram.isBuilt))
struct LoadRateTests {
    /// What a gateway would give out, for all that the load generator can tell.
    private static let challenge = UpstreamAnswer.response(
        body: String(repeating: "A", count: 64))

    private let upstream: RecordingUpstream

    init() throws { upstream = try RecordingUpstream() }
}

extension LoadRateTests {
    private func load(_ words: String...) throws -> ChildProcess.Outcome {
        try ChildProcess.run(
            BuiltProgram.lab,
            ["load", "--gateway", "127.0.0.1:\(upstream.port)", "--warm-up", "0"] + words)
    }

    /// Has the upstream take its time for each answer.
    private func answer(afterMilliseconds milliseconds: Int32) {
        upstream.answer { _ in
            _ = poll(nil, 0, milliseconds)
            return .response()
        }
    }

    /// A member of the report, or of an object in it.
    private func number(
        _ name: String, of object: String? = nil, in outcome: ChildProcess.Outcome
    ) throws -> Double {
        let report = try JSONSerialization.jsonObject(with: Data(outcome.standardOutput.utf8))
        var members = report as? [String: Any]
        if let object { members = members?[object] as? [String: Any] }
        return try #require(members?[name] as? Double)
    }

    @Test("sends no more than is due, however fast the answers come, and tells what it still owes")
    func paced() throws {
        let outcome = try load("--seconds", "1", "--rate", "50", "--connections", "4")
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let count = try number("requests", in: outcome)
        let due = try number("seconds", in: outcome) * 50
        #expect(count > 0 && count <= due + 1, "\(count) of \(due)")
        #expect(try number("late", in: outcome) >= 0)
    }

    @Test("signs before it sends, so that nothing of a signature counts as latency")
    func signedAhead() throws {
        upstream.answer { _ in Self.challenge }
        let outcome = try load(
            "--seconds", "1", "--rate", "40", "--connections", "2", "--devices", "4",
            "--seed", "ahead", "--app", "ABCDE12345.com.example.app")
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        #expect(try number("requests", in: outcome) > 0)
        let targets = upstream.requests.map(\.target)
        let firstSent = try #require(targets.firstIndex(of: "/"))
        let signedCount = targets.count - firstSent
        #expect(targets[firstSent...].allSatisfy { $0 == "/" })
        #expect(signedCount <= firstSent)
    }

    @Test("signs ahead on each connection, though one that has done so is lost meanwhile")
    func signedAheadAndLost() throws {
        upstream.answer { [upstream] request in
            guard request.target != "/" else { return .response() }
            // The other connection is far behind when the first is lost.
            guard request.connection == 0 else {
                _ = poll(nil, 0, 20)
                return Self.challenge
            }
            let count = upstream.requests.count { $0.connection == 0 }
            return count == 33 ? UpstreamAnswer(Self.challenge.steps, then: .close) : Self.challenge
        }
        let outcome = try load(
            "--seconds", "1", "--rate", "40", "--connections", "2", "--devices", "4",
            "--seed", "lost", "--app", "ABCDE12345.com.example.app")
        #expect(try number("errors", in: outcome) == 1)
        #expect(upstream.connectionCount == 3)
        let targets = upstream.requests.map(\.target)
        let firstSent = try #require(targets.firstIndex(of: "/"))
        // 40 requests, half of them each, a quarter more, and 8.
        #expect(firstSent == 2 * 33)
    }

    @Test("signs as many as it is told, and measures until a connection has sent its share")
    func signedAheadWithoutRate() throws {
        upstream.answer { _ in Self.challenge }
        let outcome = try load(
            "--seconds", "600", "--connections", "2", "--ahead", "1000",
            "--devices", "4", "--seed", "share", "--app", "ABCDE12345.com.example.app")
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let targets = upstream.requests.map(\.target)
        #expect(targets.prefix(1000).allSatisfy { $0 != "/" })
        #expect(targets.dropFirst(1000).allSatisfy { $0 == "/" })
        // The first to send its 500 has ended it, however far the other was.
        let sentCount = targets.count - 1000
        #expect((500...1000).contains(sentCount))
        #expect(try number("requests", in: outcome) <= Double(sentCount))
        #expect(try number("seconds", in: outcome) < 600)
    }

    @Test("fails if a connection has to send more than it has signed ahead")
    func signedTooFew() throws {
        // The first connection is never answered, and the other has signed 33 of 40 requests.
        upstream.answer { request in
            guard request.target == "/" else { return Self.challenge }
            return request.connection == 0 ? UpstreamAnswer([]) : .response()
        }
        let outcome = try load(
            "--seconds", "1", "--rate", "40", "--connections", "2", "--devices", "4",
            "--seed", "few", "--app", "ABCDE12345.com.example.app", "--wait", "600")
        #expect(outcome.status == .exited(1))
        #expect(outcome.standardError.contains("has sent every request that was signed ahead"))
    }

    @Test("counts a request's wait for a free connection as latency")
    func waiting() throws {
        // One connection, and 20 ms for each answer: of 1,000 a second most are never sent.
        answer(afterMilliseconds: 20)
        let outcome = try load(
            "--seconds", "2", "--rate", "1000", "--connections", "1", "--wait", "0")
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        #expect(try number("requests", in: outcome) <= 101)
        #expect(try number("late", in: outcome) > 100)
        // The last ones were due some hundred milliseconds before they were sent.
        #expect(try number("max", of: "latency_us", in: outcome) > 100_000)
    }

    @Test("charges a server that stalls until the end for all that it keeps waiting")
    func stalledAtTheEnd() throws {
        upstream.answer { [upstream] _ in
            upstream.requests.count <= 100 ? .response() : UpstreamAnswer([])
        }
        let outcome = try load(
            "--seconds", "1", "--rate", "1000", "--connections", "4", "--wait", "1")
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        #expect(try number("requests", in: outcome) <= 100)
        // Four lie with the server, and the others wait for a connection.
        #expect(try number("unanswered", in: outcome) > 4)
        // All of these were due before the second for which they were awaited.
        #expect(try number("p99", of: "latency_us", in: outcome) >= 1_000_000)
    }

    @Test("waits at the end for the answers to all that were due")
    func answeredAfterTheEnd() throws {
        // One connection, and 100 ms for each answer: half of what is due is answered in time.
        answer(afterMilliseconds: 100)
        let outcome = try load(
            "--seconds", "1", "--rate", "20", "--connections", "1", "--wait", "600")
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let answeredCount = try number("200", of: "statuses", in: outcome)
        #expect(try number("requests", in: outcome) < answeredCount)
        #expect(try number("unanswered", in: outcome) == 0)
        #expect(Int(answeredCount) == upstream.requests.count)
        // Each is due 50 ms after the one before, and answered 100 ms after that one at least.
        #expect(try number("max", of: "latency_us", in: outcome) >= 50_000 * (answeredCount + 1))
    }
}
