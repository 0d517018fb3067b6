import Foundation
import GatewayTesting
import Testing

/// Heap allocations of our own that a request makes on a warm connection. A budget is what was
/// measured when it was last lowered; optimized builds need fewer.
@Suite(
    "Allocations of a request", .enabled(if: CountedGateway.isInstalled), .timeLimit(.minutes(30)))
struct AllocationTests {
    private static let budgets: [CountedRequests.Proof: Int] = [
        .plain: 0, .assertion: 0, .token: 0,
    ]
    /// What the signals of a key's use add to a verified request of a known user and address.
    private static let keyUseMax = 1
    /// Streams of HTTP/2 have objects of their own.
    private static let http2Max = 10
    /// What a command to Redis needs.
    private static let redisMax = 10

    /// Calls of Swift's allocator, by whichever of our functions.
    private static func least(
        above budget: Int, _ cost: () throws -> CallgrindDump
    ) throws -> Int {
        try CountedGateway.least(above: budget) { try cost().callCount("swift_slowAlloc") }
    }

    @Test("are the same with spans of other requests")
    func unsampled() throws {
        let requests = try CountedRequests { site in
            site.configuration.more.append(
                "otlp: { endpoint: \"http://127.0.0.1:1\", sample: 0%, metrics_interval: off }")
        }
        let unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
        let budget = try #require(Self.budgets[.plain])
        let least = try Self.least(above: budget) {
            try requests.cost(.plain, fields: [("traceparent", unsampled)])
        }
        #expect(least <= budget)
    }

    @Test("are hardly more with signals of a key's use")
    func keyUse() throws {
        let requests = try CountedRequests { site in
            site.configuration.more.append(
                "signals: { users_per_key: { cookie: session }, addresses_per_key: {}, "
                    + "networks_per_key: {}, counter_gaps: {} }")
        }
        let budget = try #require(Self.budgets[.assertion]) + Self.keyUseMax
        #expect(try Self.least(above: budget) { try requests.cost(.assertion) } <= budget)
    }

    @Test("are no more than they were over HTTP/2")
    func http2() throws {
        let requests = try CountedRequests { $0.configuration.speakHTTP2() }
        let least = try Self.least(above: Self.http2Max) { try requests.costOverHTTP2() }
        print("allocations: \(least) over HTTP/2")
        #expect(least <= Self.http2Max)
    }

    @Test("are no more than they were with counters in Redis")
    func redis() throws {
        let server = try RedisServer()
        let requests = try CountedRequests(counters: server.counters)
        let least = try Self.least(above: Self.redisMax) { try requests.cost(.assertion) }
        print("allocations: \(least) with Redis")
        #expect(least <= Self.redisMax)
    }

    @Test("are no more than they were")
    func budget() throws {
        let requests = try CountedRequests()
        for proof in CountedRequests.Proof.allCases {
            let budget = try #require(Self.budgets[proof])
            let least = try Self.least(above: budget) { try requests.cost(proof) }
            print("allocations: \(least) \(proof)")
            #expect(least <= budget, "\(proof)")
        }
    }
}
