import AppAttestTesting
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "Counters in Redis", .enabled(if: BuiltProgram.isBuilt && RedisServer.isInstalled))
struct SharedCounterTests {
    private let upstream: RecordingUpstream
    private let redis: RedisServer

    init() throws {
        upstream = try RecordingUpstream()
        redis = try RedisServer()
    }
}

extension SharedCounterTests {
    private var configuration: GatewayConfiguration {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.counters = redis.counters
        return configuration
    }

    @Test("an assertion is accepted once, a revoked key not at all")
    func once() throws {
        let gateway = try GatewayProcess(configuration)
        let client = try SimulatedClient.enrolled(gateway)
        let fields = try client.signature("GET", "/api/x")
        #expect(try client.raw.exchange("GET", "/api/x", fields: fields).status == 200)
        let again = try client.raw.exchange("GET", "/api/x", fields: fields)
        #expect(again.outcome == "401 assertion_replayed")
    }

    @Test("two gateways racing with the same assertion: exactly one wins, always")
    func race() throws {
        let directory = try ScratchDirectory()
        let first = try GatewayProcess(configuration, directory: directory)
        var sharing = configuration
        sharing.more = [
            "secrets: { challenge_key_file: \(directory.path)/registry.db.challenge-key }"
        ]
        let second = try GatewayProcess(sharing, directory: directory)
        let client = try SimulatedClient.enrolled(first)
        let other = try second.connect()
        for round in 0..<40 {
            let fields = try client.signature("GET", "/api/x")
            try client.raw.send("GET", "/api/x", fields: fields)
            try other.send("GET", "/api/x", fields: fields)
            let outcomes = try [client.raw.receive().outcome, other.receive().outcome].sorted()
            #expect(outcomes == ["200", "401 assertion_replayed"], "round \(round)")
        }
        #expect(upstream.requests.count == 40)
    }

    @Test("what two gateways see of an address adds up")
    func signals() throws {
        let directory = try ScratchDirectory()
        var sharing = configuration
        sharing.more = [
            "signals: { keys_per_address: { max: 1 }, attestations_per_address: { max: 9 } }"
        ]
        let first = try GatewayProcess(sharing, directory: directory)
        sharing.more.append(
            "secrets: { challenge_key_file: \(directory.path)/registry.db.challenge-key }")
        let second = try GatewayProcess(sharing, directory: directory)
        let clients = [
            try SimulatedClient.enrolled(first), try SimulatedClient.enrolled(second),
        ]
        // What others have seen arrives a moment later.
        for client in clients {
            let limit = ChildProcess.deadline
            var told: [String?] = []
            while told != ["2", "2", "keys_per_address"], Date() < limit {
                for client in clients { #expect(try client.request("GET", "/api/x").status == 200) }
                #expect(try client.request("GET", "/api/x").status == 200)
                let request = try #require(upstream.requests.last)
                told = [
                    request["X-Attest-Address-Keys"], request["X-Attest-Address-Attestations"],
                    request["X-Attest-Signals"],
                ]
            }
            #expect(told == ["2", "2", "keys_per_address"])
        }
        // Redis knows no address.
        #expect(!(try redis.command("KEYS", "*")).contains("127.0.0.1"))
    }

    @Test("what two gateways see of a key adds up, and what both have seen is no gap")
    func keyUse() throws {
        let directory = try ScratchDirectory()
        var sharing = configuration
        sharing.listenerMore = ["trusted_proxies: [127.0.0.0/8]"]
        sharing.more = [
            """
            signals:
              users_per_key: { max: 5, header: Authorization, action: deny }
              addresses_per_key: { max: 100 }
              networks_per_key: { max: 100 }
              counter_gaps: { max: 100 }
            """
        ]
        let first = try GatewayProcess(sharing, directory: directory)
        sharing.more.append(
            "secrets: { challenge_key_file: \(directory.path)/registry.db.challenge-key }")
        let second = try GatewayProcess(sharing, directory: directory)
        let client = try SimulatedClient.enrolled(first)
        let clients = [client, try SimulatedClient(second, device: client.device)]
        func request(_ gateway: Int, user: Int) throws -> HTTPMessage {
            let fields =
                try clients[gateway].signature("GET", "/api/x") + [
                    ("Authorization", "Bearer user-\(user)"),
                    ("X-Forwarded-For", "192.0.\(user).1"),
                ]
            return try clients[gateway].raw.exchange("GET", "/api/x", fields: fields)
        }
        // By turns: each gateway misses what the other accepts, and nothing is missing.
        for turn in 0..<6 { #expect(try request(turn % 2, user: 0).status == 200) }
        #expect(upstream.requests.last?["X-Attest-Counter-Gaps"] == "0")
        client.device.counter += 1000
        for gateway in 0..<2 {
            let limit = ChildProcess.deadline
            var told = "0"
            while told == "0", Date() < limit {
                #expect(try request(gateway, user: 0).status == 200)
                told = upstream.requests.last?["X-Attest-Counter-Gaps"] ?? ""
            }
            #expect(told == "1000")
        }
        let event = try first.waitForEvent("signal_raised")
        #expect(event["message"]?.stringValue?.hasPrefix("counter_gaps: ") == true)
        // Three users at each, and the one too many, whom what the other has seen tells.
        for user in 0..<6 { #expect(try request(user % 2, user: user).status == 200) }
        #expect(upstream.requests.last?["X-Attest-Key-Networks"] == "1")
        for gateway in 0..<2 {
            let limit = ChildProcess.deadline
            var outcome = ""
            while outcome != "403 abuse_suspected", Date() < limit {
                outcome = try request(gateway, user: 6 + gateway).outcome
            }
            #expect(outcome == "403 abuse_suspected")
        }
        #expect(try !redis.command("KEYS", "*").contains("192.0"))
    }

    /// A worker finds its way back to Redis by itself; only its answers tell when.
    private func whileUnavailable(_ send: () throws -> HTTPMessage) throws -> HTTPMessage {
        let limit = ChildProcess.deadline
        while true {
            let answer = try send()
            if answer.status != 503 || Date() > limit { return answer }
        }
    }

    @Test("Redis stopped: attested routes 503 at once, others go on; back again: service resumes")
    func outage() throws {
        let gateway = try GatewayProcess(configuration)
        let client = try SimulatedClient.enrolled(gateway)
        let fields = try client.signature("GET", "/api/x")
        #expect(try client.raw.exchange("GET", "/api/x", fields: fields).status == 200)
        let prepared = try client.signature("GET", "/api/x")
        try redis.kill()
        try gateway.waitForReadiness(503)
        let refused = try client.raw.exchange("GET", "/api/x", fields: prepared)
        #expect(refused.outcome == "503 store_unavailable")
        #expect(refused.action == "retry_later")
        #expect(try gateway.exchange("GET", "/open").status == 200)
        try redis.start()
        // Redis has lost everything: what was accepted before must stay refused.
        let again = try whileUnavailable {
            try client.raw.exchange("GET", "/api/x", fields: fields)
        }
        // By its counter, where another worker has heard of the loss before this one.
        #expect(["401 challenge_expired", "401 assertion_replayed"].contains(again.outcome))
        // A worker that has not reached it yet seals under the incarnation that is no more.
        try gateway.waitForReadiness(200)
        #expect(try client.request("GET", "/api/x").status == 200)
        #expect(gateway.alarms.isEmpty)
    }

    @Test("Redis silent: 503 when the command's time is up, never a guess")
    func silence() throws {
        var impatient = configuration
        impatient.counters = "{ redis: \"\(redis.url)\", command_timeout: 1s }"
        let gateway = try GatewayProcess(impatient)
        let client = try SimulatedClient.enrolled(gateway)
        let fields = try client.signature("GET", "/api/x")
        redis.stop()
        let answer = try client.raw.exchange("GET", "/api/x", fields: fields)
        #expect(answer.outcome == "503 store_unavailable")
        redis.resume()
        // Perhaps it was accepted, perhaps not: it must never reach the upstream twice.
        let last = try whileUnavailable {
            try client.raw.exchange("GET", "/api/x", fields: fields)
        }
        #expect([200, 401].contains(last.status), "\(last.outcome)")
        #expect(try client.raw.exchange("GET", "/api/x", fields: fields).status == 401)
        #expect(upstream.requests.count <= 1)
        #expect(try client.request("GET", "/api/x").outcome == "200")
    }

    @Test("not Redis at all: 503, and no crash")
    func garbage() throws {
        let impostor = try RecordingUpstream { _ in .raw("not RESP\r\n") }
        var wrong = configuration
        wrong.counters = "{ redis: \"redis://127.0.0.1:\(impostor.port)/0\" }"
        let gateway = try GatewayProcess(wrong)
        let client = try gateway.connect()
        #expect(try client.exchange("GET", "/open").status == 200)
        #expect(try client.exchange("GET", "/assert/challenge").outcome == "503 store_unavailable")
        #expect(gateway.alarms.isEmpty)
    }
}
