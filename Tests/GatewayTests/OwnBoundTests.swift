import AppAttestTesting
import Attestation
import Bytes
import EventLoop
import GatewayTesting
import Judgement
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

/// Bounds of the gateway's own, which strangers can reach: never a store's failure.
@Suite("Bounds of the gateway")
struct OwnBoundTests {}

extension OwnBoundTests {
    /// With a route that lets pass whatever a store fails to judge, and one that takes tokens then.
    private static func gateway(
        counters: EmbeddedCounters.Options = EmbeddedCounters.Options(),
        _ configure: (inout Settings) -> Void = { _ in }
    ) throws -> GatewayUnderTest {
        try GatewayUnderTest(counters: counters) { settings in
            settings.routes += [
                GatewayUnderTest.route("lax", "/lax/") {
                    $0.mode = .enforce
                    $0.onStoreFailure = .pass
                },
                GatewayUnderTest.route("laxDurable", "/laxdurable/") {
                    $0.mode = .enforce
                    $0.replay = .durable
                    $0.onStoreFailure = .pass
                },
                GatewayUnderTest.route("tokens", "/tokens/") {
                    $0.mode = .enforce
                    $0.accept = .token
                    $0.onStoreFailure = .tokensOnly
                },
            ]
            configure(&settings)
        }
    }

    private func isBusy(_ answer: HTTPMessage) -> Bool {
        answer.status == 503 && answer.code == "gateway_busy" && answer["Retry-After"] != nil
            && answer.member("action") == "retry_later"
    }

    @Test("a full queue of the registry is 503, and lets nothing pass as a store's failure would")
    func fullQueue() throws {
        let gateway = try Self.gateway {
            $0.limits.registryQueueCountMax = 1
            $0.keyCache.recordCountMax = 1
        }
        let device = try EnrolledDevice(gateway)
        let token = try device.send(
            "POST", "/assert/token", fields: device.signedFields("POST", "/assert/token"))
        let bearer = [("X-App-Attest-Token", try #require(token.member("token")))]
        #expect(try EnrolledDevice(gateway).request("GET", "/attested/x").status == 200)
        let forwarded = gateway.upstream.requests.count
        let gate = Gate()
        gateway.registry.hold(until: gate)
        let first = try EnrolledDevice(gateway)
        let fields = try first.signedFields("GET", "/lax/1")
        let calls = gateway.registry.calls.count
        try first.client.send("GET", "/lax/1", fields: fields)
        try gateway.registry.waitForCalls(calls + 1)
        for _ in 0..<5 {
            let junk = try EnrolledDevice(gateway, isKnown: false)
            #expect(isBusy(try junk.request("GET", "/lax/x", fault: .otherKey)))
        }
        #expect(isBusy(try device.send("GET", "/tokens/x", fields: bearer)))
        #expect(gateway.upstream.requests.count == forwarded)
        gate.open()
        #expect(try first.client.receive().status == 200)
        // A failure of the store is still one.
        gateway.registry.fail("down")
        #expect(try EnrolledDevice(gateway).request("GET", "/lax/x").status == 200)
        #expect(gateway.upstream.requests.last?["X-Attest-Result"] == "unverified")
        #expect(try device.send("GET", "/tokens/x", fields: bearer).status == 200)
    }

    @Test("a registry that has no room for a look-up or a write has not failed")
    func refusedByQueue() throws {
        let gateway = try Self.gateway()
        let device = try EnrolledDevice(gateway)
        gateway.registry.fail(with: .queueFull)
        #expect(isBusy(try device.request("GET", "/lax/x")))
        gateway.registry.fail(nil)
        #expect(try device.request("GET", "/lax/x").status == 200)
        gateway.registry.fail(with: .queueFull)
        #expect(isBusy(try device.request("GET", "/laxdurable/x")))
        #expect(isBusy(try EnrolledDevice(gateway, isKnown: false).attest()))
        #expect(gateway.upstream.requests.count == 1)
    }

    @Test("a registry that others keep busy beyond its time has not failed")
    func slowRegistry() throws {
        let gateway = try Self.gateway { $0.timeouts.registry = .seconds(1) }
        let (slow, other) = (try EnrolledDevice(gateway), try EnrolledDevice(gateway))
        let fields = try slow.signedFields("GET", "/lax/1")
        let (otherFields, gate) = (try other.signedFields("GET", "/attested/1"), Gate())
        gateway.registry.hold(slow.device.keyID, until: gate)
        try slow.client.send("GET", "/lax/1", fields: fields)
        try gateway.registry.waitForCalls(1)
        #expect(try other.send("GET", "/attested/1", fields: otherFields).status == 200)
        #expect(isBusy(try slow.client.receive()))
        gate.open()
        gateway.stop()
        #expect(gateway.outcomes(of: "lax") == ["refused gateway_busy": 1])
    }

    @Test("a write that hangs is a store's failure, however many look-ups are answered meanwhile")
    func hangingWrite() throws {
        let gateway = try Self.gateway { $0.timeouts.registry = .seconds(1) }
        let writer = try EnrolledDevice(gateway)
        let stranger = try EnrolledDevice(gateway, isKnown: false)
        let others = try (0..<2).map { _ in try EnrolledDevice(gateway) }
        #expect(try writer.request("GET", "/lax/x").status == 200)
        let fields = try writer.signedFields("GET", "/durable/x")
        let otherFields = try others.map { try $0.signedFields("GET", "/attested/x") }
        let token = try stranger.fetchChallenge("/attest/challenge")
        let (body, gate) = (try stranger.attestation(challenge: token), Gate())
        gateway.registry.holdWrites(until: gate)
        try writer.client.send("GET", "/durable/x", fields: fields)
        try gateway.registry.waitForCalls(2)
        #expect(
            try others[0].send("GET", "/attested/x", fields: otherFields[0]).status == 200)
        let refused = try writer.client.receive()
        #expect(refused.code == "store_unavailable" && refused.member("assertion") == "spent")
        try stranger.client.send("POST", "/attest/verify", body: body)
        try gateway.registry.waitForCalls(4)
        #expect(
            try others[1].send("GET", "/attested/x", fields: otherFields[1]).status == 200)
        #expect(try stranger.client.receive().code == "store_unavailable")
        gate.open()
        gateway.stop()
        #expect(gateway.outcomes(of: "durable") == ["refused store_unavailable": 1])
        let unknown = #""detail":"registry_unknown""#
        #expect(try gateway.logLines().count { $0.contains(unknown) } == 2)
    }

    @Test("a look-up that is asked again because of a change was answered all the same")
    func answeredBeforeChange() throws {
        let worker = try SteppedWorker().worker
        let device = try SimulatedDevice(appID: GatewayUnderTest.appID)
        func answer(_ result: Result<KeyRecord?, StoreError>) {
            worker.services.keyWasLookedUp(
                KeyQuestion(
                    number: 1, keyID: device.keyID, changeCount: 0, newsCount: 0,
                    floorNewsNumber: 0), result)
        }
        worker.receive(.keysChanged(.keys([device.keyID])))
        let start = worker.services.registryAnsweredAt
        answer(.failure(StoreError("down")))
        #expect(worker.services.registryAnsweredAt == start)
        answer(.success(nil))
        #expect(worker.services.registryAnsweredAt > start)
    }

    @Test("what comes late is no answer to what the same request asks next")
    func lateAnswer() throws {
        let stepped = try SteppedWorker()
        let worker = stepped.worker
        try stepped.begin()
        let exchange = try #require(stepped.connection.exchange)
        // The user was not known in time, and the request went on without.
        worker.services.waiting.wait(exchange, for: .counter)
        let device = try SimulatedDevice(appID: GatewayUnderTest.appID)
        worker.receive(.userLookedUp(exchange.number, device.keyID, .success(nil)))
        #expect(worker.services.waiting.contains(exchange.number, for: .advance))
        #expect(worker.services.waiting.take(exchange.number, for: .advance) === exchange)
        #expect(worker.services.waiting.take(exchange.number, for: .advance) == nil)
    }

    @Test("a memory of counters that is full lets nothing pass")
    func fullCounters() throws {
        var options = EmbeddedCounters.Options()
        options.spentCountPerKeyMax = 2
        let gateway = try Self.gateway(counters: options)
        let device = try EnrolledDevice(gateway)
        for _ in 0..<2 { #expect(try device.request("GET", "/lax/x").status == 200) }
        let refused = try device.request("GET", "/lax/x")
        #expect(isBusy(refused) && refused.member("assertion") == "unspent")
        #expect(gateway.upstream.requests.count == 2)
        gateway.stop()
        #expect(gateway.outcomes(of: "lax") == ["verified ok": 2, "refused gateway_busy": 1])
    }
}
