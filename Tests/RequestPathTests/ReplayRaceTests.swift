import AppAttestTesting
import Bytes
import GatewayTesting
import Testing

/// Two gateways, one store, the same assertions at once: exactly one of them wins each.
@Suite(
    "Two gateways on one store", .enabled(if: RedisServer.isInstalled), .timeLimit(.minutes(30)))
struct ReplayRaceTests {
    private let redis: RedisServer
    private let site: FaultSite
    private let gateways: [GatewayProcess]

    init() throws {
        redis = try RedisServer()
        site = try FaultSite(redis: redis)
        // Registry and challenge key are shared files; the second gateway finds both made.
        gateways = [try site.start(), try site.start()]
    }
}

extension ReplayRaceTests {
    /// Sends every call, in the order of `orders`, on a connection to each gateway; all at once.
    /// Returns the verdicts, by call.
    private func race(
        _ calls: [SignedCall], orders: [[Int]], connectionsPerGateway: Int = 1
    ) throws -> [[String]] {
        let ports = gateways.map(\.port)
        let count = gateways.count * connectionsPerGateway
        let start = Gate()
        let verdicts = try inParallel(count) { index in
            let client = try RawClient(port: ports[index % ports.count])
            var verdicts = [String](repeating: "", count: calls.count)
            if index == count - 1 { start.open() } else { start.wait() }
            for position in orders[index % orders.count] {
                verdicts[position] = try calls[position].exchange(on: client).verdict
            }
            return verdicts
        }
        return calls.indices.map { position in verdicts.map { $0[position] } }
    }

    private func expectOneWinnerEach(
        _ calls: [SignedCall], _ verdicts: [[String]], losers: Set<String>
    ) {
        for answers in verdicts {
            #expect(answers.count { $0 == "200" } == 1, "\(answers)")
            #expect(Set(answers).subtracting(["200"]).isSubset(of: losers), "\(answers)")
        }
        let seen = site.seenBodies
        #expect(seen.values.allSatisfy { $0 == 1 })
        #expect(Set(calls.map(\.bodyText)).isSubset(of: seen.keys))
    }

    @Test("accept each of 200 assertions once under `strict`")
    func strict() throws {
        let device = try site.enrolledDevice(at: gateways[0])
        let calls = try gateways[0].challenges(200).map {
            try device.call("strict", challenge: $0)
        }
        let verdicts = try race(calls, orders: [Array(calls.indices)])
        expectOneWinnerEach(
            calls, verdicts,
            losers: ["401 assertion_replayed", "401 challenge_expired"])
    }

    @Test("accept each of 192 assertions once under `window`, in whatever order they come")
    func window() throws {
        let device = try site.enrolledDevice(at: gateways[0])
        let calls = try gateways[1].challenges(192).map {
            try device.call("window", challenge: $0)
        }
        var generator = SeededGenerator(7)
        for block in stride(from: 0, to: calls.count, by: 64) {
            // Nobody is more than 64 behind, so nobody falls out of the window.
            let indices = Array(block..<block + 64)
            let orders = (0..<4).map { _ in indices.shuffled(using: &generator) }
            let verdicts = try race(calls, orders: orders, connectionsPerGateway: 2)
            for position in indices {
                #expect(verdicts[position].count { $0 == "200" } == 1, "\(verdicts[position])")
            }
        }
        let seen = site.seenBodies
        #expect(seen.count == calls.count)
        #expect(seen.values.allSatisfy { $0 == 1 })
    }

    @Test("refuse none of different requests in parallel under `window`")
    func parallel() throws {
        let device = try site.enrolledDevice(at: gateways[0])
        let calls = try gateways[0].challenges(160).map {
            try device.call("window", challenge: $0)
        }
        let ports = gateways.map(\.port)
        let queue = WorkQueue(count: calls.count)
        let verdicts = try inParallel(8) { index in
            let client = try RawClient(port: ports[index % 2])
            var verdicts: [String] = []
            // Eight in flight at any time, in an order of chance; nobody is far behind.
            while let position = queue.next() {
                verdicts.append(try calls[position].exchange(on: client).verdict)
            }
            return verdicts
        }
        #expect(verdicts.joined().allSatisfy { $0 == "200" }, "\(verdicts)")
        #expect(site.seenBodies.count == calls.count)
    }

    @Test("let one challenge through once, whichever of two assertions is first")
    func challenges() throws {
        let device = try site.enrolledDevice(at: gateways[0])
        for challenge in try gateways[0].challenges(40) {
            let calls = [
                try device.call("window", challenge: challenge),
                try device.call("window", challenge: challenge),
            ]
            let verdicts = try race(calls, orders: [[0, 1], [1, 0]]).joined()
            #expect(verdicts.count { $0 == "200" } == 1, "\(verdicts)")
            let losers = Set(verdicts).subtracting(["200"])
            #expect(losers.isSubset(of: ["401 assertion_replayed", "401 challenge_expired"]))
        }
        #expect(site.seenBodies.count == 40)
    }

    @Test(
        "accept each assertion without a challenge once: the registry decides",
        arguments: ["durable", "body"])
    func durable(route: String) throws {
        let device = try site.enrolledDevice(at: gateways[0])
        let calls = try (0..<100).map { _ in try device.call(route) }
        let verdicts = try race(calls, orders: [Array(calls.indices)])
        expectOneWinnerEach(calls, verdicts, losers: ["401 assertion_replayed"])
    }

    @Test("enrol one key by the same attestation at both, and one key by one challenge")
    func enrolment() throws {
        let device = try site.device()
        let body = try site.attestation(device, gateways[0])
        let ports = gateways.map(\.port)
        let statuses = try inParallel(8) { index in
            try RawClient(port: ports[index % 2])
                .exchange("POST", "/attest/verify", body: body).status
        }
        #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")

        // Two keys attest over one challenge: whichever is first has spent it.
        let challenge = try gateways[0].challenge("/attest/challenge")
        let bodies = try (0..<2).map { _ in
            try site.attestation(try site.device(), challenge: challenge)
        }
        let verdicts = try inParallel(8) { index in
            try RawClient(port: ports[index % 2])
                .exchange("POST", "/attest/verify", body: bodies[index / 2 % 2]).verdict
        }
        #expect(verdicts.count { $0 == "200" } == 4, "\(verdicts)")
        #expect(verdicts.count { $0 == "401 challenge_expired" } == 4, "\(verdicts)")
    }
}
