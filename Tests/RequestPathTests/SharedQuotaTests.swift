import AppAttestTesting
import Foundation
import GatewayTesting
import Testing

/// Two gateways that count in one Redis, and are asked for more than the limit at once.
@Suite(
    "Quotas that gateways share", .enabled(if: BuiltProgram.isBuilt && RedisServer.isInstalled),
    .timeLimit(.minutes(30)))
struct SharedQuotaTests {
    private let upstream: RecordingUpstream
    private let redis: RedisServer
    private let directory: ScratchDirectory

    init() throws {
        upstream = try RecordingUpstream()
        redis = try RedisServer()
        directory = try ScratchDirectory()
    }
}

extension SharedQuotaTests {
    private func gateways(
        _ attest: String, quota: String, more: [String] = []
    ) throws -> [GatewayProcess] {
        var configuration = GatewayConfiguration(
            upstreamPort: upstream.port,
            routes: [.init("api", path: "/api/*", attest: attest, more: ["quota: few"])])
        configuration.counters = redis.counters
        configuration.speakHTTP2()
        configuration.listenerMore.append("trusted_proxies: [127.0.0.0/8]")
        configuration.more = ["quotas: { few: \(quota) }"] + more
        let first = try GatewayProcess(configuration, directory: directory)
        configuration.more.append(
            "secrets: { challenge_key_file: \(directory.path)/registry.db.challenge-key }")
        return [first, try GatewayProcess(configuration, directory: directory)]
    }

    /// Sends a request with each of `fields`, by turns over two connections to each gateway and all
    /// before the first answer is read. Returns the answers in the same order.
    private func answers(
        of gateways: [GatewayProcess], to fields: [[(String, String)]]
    ) throws -> [HTTP2Client.Answer] {
        let clients = try (gateways + gateways).map { try HTTP2Client(port: $0.port) }
        let streams = fields.indices.map { UInt32(2 * ($0 / clients.count) + 1) }
        for (number, client) in clients.enumerated() {
            try client.send(
                fields.indices.filter { $0 % clients.count == number }.map { index in
                    let names = fields[index].map { ($0.0.lowercased(), $0.1) }
                    let head = HTTP2Client.head("GET", "/api/x", names)
                    return .headers(streams[index], head, endStream: true)
                })
        }
        return try fields.indices.map {
            try clients[$0 % clients.count].answer(streams[$0])
        }
    }

    /// What answers say is left of the quota, if they were accepted.
    private func left(_ answers: [HTTP2Client.Answer]) -> [Int] {
        answers.filter { $0.status == 200 }.compactMap { answer in
            let words = answer["ratelimit"]?.split(separator: ";r=").last?.prefix { $0 != ";" }
            return words.flatMap { Int($0) }
        }
    }

    /// The text of each count in Redis.
    private func counts() throws -> [String] {
        try redis.command("KEYS", "*:quota:*").split(separator: "\n")
            .map { try redis.command("GET", String($0)) }
    }

    @Test("streams of HTTP/2 on two gateways at once pass up to the limit, and not one beyond it")
    func streams() throws {
        let limit = 25
        let gateways = try gateways(
            "mode: off", quota: "{ by: address, per: month, limit: \(limit) }")
        func fields(_ round: Int) -> [(String, String)] {
            [("X-Forwarded-For", "10.0.0.\(1 + round)")]
        }
        // A gateway whose routes demand no proof serves before it has reached Redis.
        for gateway in gateways {
            try waitWhile(
                try gateway.exchange("GET", "/api/x", fields: fields(99))["RateLimit"] == nil)
        }
        let before = upstream.requests.count
        let roundCount = 6
        for round in 0..<roundCount {
            let answers = try answers(
                of: gateways, to: Array(repeating: fields(round), count: 120))
            // Each unit is given out once.
            #expect(left(answers).sorted() == Array(0..<limit), "round \(round)")
            #expect(answers.filter { $0.status == 429 }.count == 120 - limit, "round \(round)")
        }
        #expect(upstream.requests.count - before == roundCount * limit)
        // Nothing is left of those that were refused.
        #expect(try counts().filter { $0.hasSuffix("\(limit) 0") }.count == roundCount)
        #expect(try counts().count == roundCount + 1)
    }

    @Test(
        "so do proven requests of one device, whose signatures are verified in batches",
        .enabled(if: SteppedClock.isPossible))
    func proven() throws {
        let limit = 15
        let library = try StandInLibrary.make(in: directory)
        let gateways = try gateways(
            "mode: enforce, replay: { window: 64 }",
            quota: "{ by: installation, per: month, limit: \(limit) }",
            more: ["crypto: { library: \(library) }"])
        let client = try SimulatedClient.enrolled(gateways[0])
        let other = try SimulatedClient.enrolled(gateways[1])
        let proofs = try (0..<48).map { _ in try client.signature("GET", "/api/x") }
        let first = try answers(of: gateways, to: proofs)
        #expect(left(first).sorted() == Array(0..<limit))
        #expect(first.filter { $0.status == 429 }.count == proofs.count - limit)
        #expect(upstream.requests.count == limit)
        // At the other gateways, over which they were refused, none is accepted or charged again.
        let again = try answers(of: gateways.reversed(), to: proofs)
        #expect(again.allSatisfy { $0.status == 401 })
        #expect(try counts().count == 1)
        #expect(try counts().allSatisfy { $0.hasSuffix("\(limit) 0") })
        // Another installation has a count of its own.
        #expect(try other.request("GET", "/api/x").status == 200)
        let full = #"sallyport_signature_batches_total{lanes="8"}"#
        #expect(try gateways.reduce(0) { try $0 + ($1.metric(full) ?? 0) } > 0)
    }
}
