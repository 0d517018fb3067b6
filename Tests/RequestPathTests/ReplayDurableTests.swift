import AppAttestTesting
import Bytes
import Crypto
import Foundation
import GatewayTesting
import Testing

/// Routes whose counters are compared in the registry, and what was accepted elsewhere.
@Suite("Durable counters", .timeLimit(.minutes(30)))
struct ReplayDurableTests {}

extension ReplayDurableTests {
    /// A body that carries a challenge in `member`.
    private func call(
        _ device: SimulatedDevice, to target: String, challenge: String, member: String
    ) throws -> SignedCall {
        let body = Array(#"{"\#(member)":"\#(challenge)","id":"\#(UUID())"}"#.utf8)
        let signed = try device.sign(body: body)
        return SignedCall(
            method: "POST", target: target, fields: signed.headers.map { ($0.name, $0.value) },
            body: body)
    }

    private func redirected(_ call: SignedCall, to target: String) -> SignedCall {
        SignedCall(method: call.method, target: target, fields: call.fields, body: call.body)
    }

    @Test("accept an assertion once, also after kill -9", arguments: ["body", "durable"])
    func once(route: String) throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        var accepted: [SignedCall] = []
        for round in 0..<4 {
            for _ in 0..<5 {
                let call = try device.call(route)
                #expect(try call.exchange(with: gateway).verdict == "200")
                accepted.append(call)
            }
            if round < 3 {
                try gateway.restart(byKill: true)
            }
            for call in accepted {
                #expect(try call.exchange(with: gateway).verdict == "401 assertion_replayed")
            }
        }
        // A body that was not signed is no way around.
        var changed = try #require(accepted.last)
        changed = SignedCall(
            method: changed.method, target: changed.target, fields: changed.fields,
            body: changed.body + [0x20])
        #expect(
            try changed.exchange(with: gateway).verdict == "401 assertion_invalid"
                || route == "durable")
        #expect(site.seenBodies.count == accepted.count)
        #expect(site.seenBodies.values.allSatisfy { $0 == 1 })
    }

    /// Two routes whose client data is the body, one with challenges: method and path are not
    /// signed, so what one accepted can be sent to the other.
    private func bodySite(_ member: String = "challenge", counters: String = "embedded") throws
        -> FaultSite
    {
        let site = try FaultSite(counters: counters)
        site.configuration.routes.append(
            .init(
                "fresh", path: "/fresh/*",
                attest: """
                    mode: enforce, client_data: body, challenge: required, replay: strict, \
                    challenge_member: \(member)
                    """))
        return site
    }

    @Test(
        "do not accept what a route with challenges accepted, whether or not its counters are lost",
        arguments: ["challenge", "nonce"], [false, true])
    func acceptedWithChallenge(member: String, isKilled: Bool) throws {
        let site = try bodySite(member)
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let call = try call(
            device, to: "/fresh/it", challenge: try gateway.challenge(), member: member)
        #expect(try call.exchange(with: gateway).verdict == "200")
        if isKilled {
            try gateway.restart(byKill: true)
        }
        for target in ["/fresh/it", "/body/it"] {
            let verdict = try redirected(call, to: target).exchange(with: gateway).verdict
            #expect(verdict == (isKilled ? "401 challenge_expired" : "401 assertion_replayed"))
        }
        #expect(site.seenBodies.values.allSatisfy { $0 == 1 })
        #expect(try device.call("body").exchange(with: gateway).verdict == "200")
    }

    @Test("do not accept it after the key that sealed its challenge is gone either")
    func droppedKey() throws {
        let site = try bodySite()
        let keys = (0..<2).map { _ in Base64.encode(RandomBytes.bytes(32)) }
        let path = try site.directory.write(keys[0] + "\n", to: "challenge-keys")
        site.configuration.more.append("secrets: { challenge_key_file: \(path) }")
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let call = try call(
            device, to: "/fresh/it", challenge: try gateway.challenge(), member: "challenge")
        #expect(try call.exchange(with: gateway).verdict == "200")
        try gateway.kill()
        try site.directory.write(keys[1] + "\n", to: "challenge-keys")
        try gateway.start()
        for target in ["/fresh/it", "/body/it"] {
            let verdict = try redirected(call, to: target).exchange(with: gateway).verdict
            #expect(verdict == "401 challenge_expired")
        }
        #expect(site.seenBodies.values.allSatisfy { $0 == 1 })
    }

    @Test("do not accept what the same path accepted before its route was made durable")
    func changedRoute() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let call = try device.call("strict", at: gateway)
        #expect(try call.exchange(with: gateway).verdict == "200")
        try gateway.kill()
        var changed = site.configuration
        changed.routes[0].attest = "mode: enforce, challenge: off, replay: durable"
        try gateway.start()
        let outcome = try gateway.reload(changed)
        #expect("\(outcome)".contains("reloaded"))
        #expect(try call.exchange(with: gateway).verdict == "401 challenge_expired")
        #expect(try device.call("strict").exchange(with: gateway).verdict == "200")
        #expect(site.seenBodies.values.allSatisfy { $0 == 1 })
    }

    @Test(
        "do not accept a counter below one that a route with challenges has just accepted",
        arguments: ["strict", "window"], [false, true])
    func belowChallenged(route: String, isRedis: Bool) throws {
        guard !isRedis || RedisServer.isInstalled else { return }
        let redis = isRedis ? try RedisServer() : nil
        let site = try redis.map { try FaultSite(redis: $0) } ?? FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        device.counter = 4
        let withheld = try device.call("durable")
        device.counter = 9
        #expect(try device.call(route, at: gateway).exchange(with: gateway).verdict == "200")
        #expect(try withheld.exchange(with: gateway).verdict == "401 assertion_replayed")
        #expect(try device.call("durable").exchange(with: gateway).verdict == "200")
        #expect(site.seenBodies.values.allSatisfy { $0 == 1 })
    }

    @Test("keep counting where a route asks for challenges and for the registry's counter")
    func both() throws {
        let site = try FaultSite()
        site.configuration.routes.append(
            .init("both", path: "/both/*", attest: "mode: enforce, replay: durable"))
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let first = try device.call("both", at: gateway)
        let second = try device.call("both", at: gateway)
        #expect(try second.exchange(with: gateway).verdict == "200")
        // Below the highest: refused by either store.
        #expect(try first.exchange(with: gateway).verdict == "401 assertion_replayed")
        #expect(try second.exchange(with: gateway).verdict == "401 assertion_replayed")
        try gateway.restart(byKill: true)
        let challenge = try gateway.challenge()
        device.counter = 0
        // As a cloned key would: fresh challenge, old counter.
        let cloned = try device.call("both", challenge: challenge)
        #expect(try cloned.exchange(with: gateway).verdict == "401 assertion_replayed")
        device.counter = 2
        let next = try device.call("both", at: gateway)
        #expect(try next.exchange(with: gateway).verdict == "200")
        #expect(site.seenBodies.count == 2)
    }
}
