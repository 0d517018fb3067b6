import Foundation
import GatewayTesting
import Testing

/// Heap allocations of our own that a request makes on a warm connection. A budget is what was
/// measured when it was last lowered; optimized builds need fewer. ``InstructionTests`` holds the
/// requests of an ordinary gateway to them.
@Suite(
    "Allocations of a request", .enabled(if: CountedGateway.isInstalled), .timeLimit(.minutes(30)))
struct AllocationTests {}

extension AllocationTests {
    static let budgets: [CountedRequests.Proof: Int] = [
        .plain: 0, .assertion: 0, .token: 0,
    ]
    /// What the signals of a key's use add to a verified request of a known user and address.
    private static let keyUseMax = 1

    private static func least(
        above budget: Int, _ cost: () throws -> CallgrindDump
    ) throws -> Int {
        try CountedGateway.least(above: budget) { try cost().allocations }
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
}
