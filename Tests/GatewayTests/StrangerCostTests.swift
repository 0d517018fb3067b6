import AppAttestTesting
import Attestation
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import Policy
import Settings
import Testing

@testable import Gateway

/// What requests without a proof make others do; the table in `docs/proof/threat-model.md` says it.
@Suite("What a stranger makes the stores do")
struct StrangerCostTests {}

extension StrangerCostTests {
    /// Requests that prove nothing, each on an endpoint or route of its own.
    private func unproved(
        _ device: EnrolledDevice
    ) throws -> [(method: String, path: String, fields: [(String, String)], body: [UInt8])] {
        let body = Array(#"{"key_id":"AA","attestation":"AA","challenge":"AA"}"#.utf8)
        let junk = [("X-App-Attest-Assertion", "AAAA")]
        return [
            ("GET", "/attest/challenge", [], []), ("GET", "/assert/challenge", [], []),
            ("POST", "/attest/verify", [], body), ("POST", "/assert/token", [], []),
            ("POST", "/assert/token", junk, body), ("GET", "/attested/x", [], []),
            ("GET", "/attested/x", junk, []), ("POST", "/body/x", junk, body),
            ("POST", "/body/x", [], body), ("GET", "/durable/x", junk, []),
            ("GET", "/tokens/x", [("X-App-Attest-Token", "a.b.c")], []),
        ]
    }

    @Test("nothing is asked of a store for a request without a fresh challenge of ours")
    func noChallenge() throws {
        let gateway = try GatewayUnderTest { settings in
            settings.routes.append(
                GatewayUnderTest.route("tokens", "/tokens/") {
                    $0.mode = .enforce
                    $0.accept = [.assertion, .token]
                })
        }
        let device = try EnrolledDevice(gateway, isKnown: false)
        for request in try unproved(device) {
            _ = try device.send(
                request.method, request.path, fields: request.fields, body: request.body)
        }
        let old = try device.signedFields("GET", "/attested/x", challenge: "AQ")
        #expect(try device.send("GET", "/attested/x", fields: old).code == "challenge_expired")
        #expect(gateway.registry.calls.isEmpty)
        #expect(gateway.counters.spentCount == 0 && gateway.counters.keyCount == 0)
        #expect(gateway.upstream.requests.isEmpty)
    }

    @Test("a key that is not enrolled is asked for once, however often it is named")
    func unknownKey() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway, isKnown: false)
        for _ in 0..<20 {
            #expect(try device.request("GET", "/attested/x").code == "key_unknown")
        }
        #expect(gateway.registry.calls.count(where: { $0 == .find(device.device.keyID) }) < 5)
    }

    @Test("a key that enrols is known at once, also where it was asked for just before")
    func enrolledMeanwhile() throws {
        let gateway = try GatewayUnderTest()
        for isElsewhere in [false, true] {
            let device = try EnrolledDevice(gateway, isKnown: false)
            #expect(try device.request("GET", "/attested/x").code == "key_unknown")
            if isElsewhere {
                gateway.registry.insert(device.record)
                gateway.registry.set(.active, of: device.device.keyID)
            } else {
                #expect(try device.attest().status == 200)
            }
            #expect(try device.request("GET", "/attested/x").status == 200)
        }
    }

    @Test("where other gateways enrol without telling, an unknown key is asked for each time")
    func sharedRegistry() throws {
        for isPostgres in [false, true] {
            let gateway = try GatewayUnderTest {
                if isPostgres {
                    $0.registry = .postgres(PostgresSettings(hosts: []))
                } else {
                    // With Redis several gateways may use one file.
                    $0.counters = .redis(RedisSettings(endpoint: .unix(path: "")))
                }
            }
            let device = try EnrolledDevice(gateway, isKnown: false)
            #expect(try device.request("GET", "/attested/x").code == "key_unknown")
            gateway.registry.insert(device.record)
            #expect(try device.request("GET", "/attested/x").status == 200)
        }
    }

    @Test("a key is known as soon as it is enrolled, though nobody waits for the answer any more")
    func enrolledForNobody() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway, isKnown: false)
        let token = try device.fetchChallenge("/attest/challenge")
        let gate = Gate()
        gateway.registry.holdWrites(until: gate)
        let enrolling = try gateway.client()
        try enrolling.send(
            "POST", "/attest/verify", body: try device.attestation(challenge: token))
        try gateway.registry.waitForCalls(1)
        #expect(try device.request("GET", "/attested/x").code == "key_unknown")
        let newsCount = gateway.hub.unknownKeys.newsCount
        enrolling.socket.close()
        gate.open()
        let limit = ChildProcess.deadline
        while gateway.hub.unknownKeys.newsCount == newsCount, Date() < limit {
            _ = poll(nil, 0, 1)
        }
        #expect(gateway.hub.unknownKeys.newsCount > newsCount)
        #expect(!gateway.hub.unknownKeys.contains(device.device.keyID, at: .now()))
        #expect(try device.request("GET", "/attested/x").status == 200)
    }

    @Test("news that come while the registry is asked win over its answer")
    func newsWin() {
        let keys = UnknownKeys()
        let now = MonotonicInstant(nanoseconds: 5)
        let (one, other) = (KeyID(digest: .zero), KeyID(digest: Bytes32([UInt8](1...32)) ?? .zero))
        let before = keys.newsCount
        keys.forget(.keys([one]))
        keys.note(one, newsCount: before, at: now)
        #expect(!keys.contains(one, at: now))
        keys.note(one, newsCount: keys.newsCount, at: now)
        #expect(keys.contains(one, at: now) && !keys.contains(other, at: now))
        #expect(!keys.contains(one, at: now + .seconds(1)))
        keys.forget(.everything)
        #expect(!keys.contains(one, at: now))
    }

    @Test("a registry that is down is told of once, not for each request")
    func events() throws {
        let path = NSTemporaryDirectory() + "sallyport-events-\(UUID().uuidString).log"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let gateway = try GatewayUnderTest { $0.log.events = .file(path: path) }
        gateway.registry.fail("down")
        let device = try EnrolledDevice(gateway, isKnown: false)
        for _ in 0..<50 {
            #expect(try device.request("GET", "/attested/x").code == "store_unavailable")
        }
        #expect(gateway.hub.logs.eventCounts["registry_failed"] == 50)
        gateway.stop()
        gateway.hub.logs.close()
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.split(separator: "\n").count { $0.contains("registry_failed") } == 1)
    }
}
