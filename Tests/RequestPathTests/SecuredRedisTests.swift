import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

/// A gateway on a Redis that believes nobody: TLS with certificates on both sides, and a user with
/// the rights that the documents name.
@Suite(
    "Redis with TLS and users", .enabled(if: BuiltProgram.isBuilt && RedisServer.isInstalled),
    .timeLimit(.minutes(30)))
struct SecuredRedisTests {
    private let security: RedisSecurity
    private let redis: RedisServer
    private let site: FaultSite

    init() throws {
        security = try RedisSecurity()
        redis = try RedisServer(secured: security)
        site = try FaultSite(
            counters: "{ redis: { address: \"127.0.0.1:\(redis.port)\", \(security.settings) } }")
    }
}

extension SecuredRedisTests {
    /// A gateway that is ready, and a device of its own.
    private func start() throws -> (GatewayProcess, SimulatedDevice) {
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        return (gateway, device)
    }

    /// Signs until a request passes; whatever else is answered is a refusal that says what to do.
    private func serve(_ device: SimulatedDevice, _ gateway: GatewayProcess) throws -> SignedCall {
        try gateway.poll { client in
            let challenge = try client.exchange("GET", "/assert/challenge")
            guard challenge.status == 200 else { return nil }
            let call = try device.call("strict", challenge: challenge.bodyText)
            let answer = try call.exchange(on: client)
            #expect([200, 401, 503].contains(answer.status), "\(answer.verdict)")
            return answer.status == 200 ? call : nil
        }
    }

    /// Signs until a request is refused, and returns how; nothing of it goes upstream.
    private func refusal(_ device: SimulatedDevice, _ gateway: GatewayProcess) throws -> String {
        try gateway.poll { client in
            let challenge = try client.exchange("GET", "/assert/challenge")
            guard challenge.status == 200 else { return challenge.verdict }
            let answer = try device.call("strict", challenge: challenge.bodyText)
                .exchange(on: client)
            return answer.status == 200 ? nil : answer.verdict
        }
    }

    /// The event of this name whose message says this.
    private func event(
        _ name: String, saying words: String, _ gateway: GatewayProcess, from index: Int = 0
    ) throws {
        try gateway.current.waitForLine(on: .standardError, from: index) {
            $0.contains("\"event\":\"\(name)\"") && $0.contains(words)
        }
    }

    private func expectEachOnce(_ calls: [SignedCall], _ gateway: GatewayProcess) throws {
        for call in calls {
            let answer = try call.exchange(with: gateway)
            #expect([401, 503].contains(answer.status), "\(answer.verdict)")
        }
        let seen = site.seenBodies
        #expect(calls.allSatisfy { seen[$0.bodyText] == 1 })
        #expect(seen.values.allSatisfy { $0 == 1 })
        #expect(gateway.isUnharmed, "\(gateway.alarms)")
    }

    @Test("the rights of the documents are enough for every kind of route, and for revocations")
    func rights() throws {
        let (gateway, device) = try start()
        var calls: [SignedCall] = []
        for route in ["strict", "window", "durable", "body"] {
            let call = try device.call(route, at: gateway)
            #expect(try call.exchange(with: gateway).status == 200, "\(route)")
            calls.append(call)
        }
        try expectEachOnce(calls, gateway)
        let outcome = try BuiltProgram.run(
            ["keys", "revoke", "-c", gateway.configurationPath, device.keyID.base64])
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let refused = try device.call("strict", at: gateway).exchange(with: gateway)
        #expect(refused.verdict == "403 key_revoked")
        // Nothing was ever refused.
        #expect(try redis.command("ACL", "LOG").isEmpty)
        #expect(try redis.command("INFO", "commandstats").contains("cmdstat_evalsha"))
    }

    @Test("killed and started again under requests: each passes once, and service comes back")
    func killed() throws {
        let (gateway, device) = try start()
        let port = gateway.port
        let others = try (0..<3).map { _ in try site.enrolledDevice(at: gateway) }
        let challenges = try gateway.challenges(90)
        let calls = try (0..<90).map { index in
            try others[index % 3].call("window", challenge: challenges[index])
        }
        let answers = try inParallel(4) { [redis] thread -> [Int] in
            guard thread > 0 else {
                try redis.restart()
                return []
            }
            let client = try RawClient(port: port)
            return try stride(from: thread - 1, to: calls.count, by: 3).map {
                try calls[$0].exchange(on: client).status
            }
        }.joined()
        #expect(answers.allSatisfy { [200, 401, 503].contains($0) })
        let call = try serve(device, gateway)
        try expectEachOnce([call], gateway)
        let seen = site.seenBodies
        for call in calls where seen[call.bodyText] != nil {
            #expect(try call.exchange(with: gateway).status == 401)
        }
        #expect(site.seenBodies.values.allSatisfy { $0 == 1 })
    }

    @Test("a renewed certificate is taken without a word, and by the connections to come")
    func renewed() throws {
        let (gateway, device) = try start()
        var calls = [try serve(device, gateway)]
        try security.renew([redis])
        calls.append(try serve(device, gateway))
        try RedisSecurity.cut([redis])
        calls.append(try serve(device, gateway))
        try expectEachOnce(calls, gateway)
    }

    @Test(
        "who shows another's certificate is not believed: 503, the reason, and back without a hand",
        arguments: [
            (RedisSecurity.Imposture.otherAuthority, "certificate verify failed: "),
            (.otherName, "certificate verify failed: IP address mismatch"),
            (.expired, "certificate verify failed: certificate has expired"),
        ])
    func impostors(_ imposture: RedisSecurity.Imposture, _ words: String) throws {
        let (gateway, device) = try start()
        var calls = [try serve(device, gateway)]
        let descriptorCount = try gateway.fileDescriptorCount()
        try security.impose(imposture, on: [redis])
        try RedisSecurity.cut([redis])
        #expect(try refusal(device, gateway) == "503 store_unavailable")
        try event("store_down", saying: words, gateway)
        try gateway.waitForReadiness(503)
        #expect(try gateway.exchange("GET", "/open/x").status == 200)
        try security.renew([redis])
        calls.append(try serve(device, gateway))
        try gateway.waitForReadiness(200)
        try gateway.waitForEvent("store_up")
        try expectEachOnce(calls, gateway)
        #expect(try gateway.fileDescriptorCount() <= descriptorCount + 4)
    }

    @Test("a server that is killed and comes back with another's certificate: the reason is told")
    func impostorAfterOutage() throws {
        let (gateway, device) = try start()
        try redis.kill()
        try gateway.waitForReadiness(503)
        try event("store_down", saying: "counters", gateway)
        try security.impose(.otherAuthority, on: [])
        try redis.start()
        try event("store_down", saying: "certificate verify failed", gateway)
        try security.renew([redis])
        try expectEachOnce([try serve(device, gateway)], gateway)
    }

    @Test("a certificate of its own that Redis does not take: the reason, and mended by a reload")
    func clientCertificate() throws {
        let (gateway, device) = try start()
        var calls = [try serve(device, gateway)]
        // Renewed: connections to come show it.
        try security.renewClientCertificate()
        _ = try gateway.reload(site.configuration)
        try RedisSecurity.cut([redis])
        calls.append(try serve(device, gateway))
        try security.renewClientCertificate(byStranger: true)
        _ = try gateway.reload(site.configuration)
        // Those that stand go on.
        calls.append(try serve(device, gateway))
        try RedisSecurity.cut([redis])
        #expect(try refusal(device, gateway) == "503 store_unavailable")
        try event("store_down", saying: "alert unknown ca", gateway)
        try security.renewClientCertificate()
        _ = try gateway.reload(site.configuration)
        calls.append(try serve(device, gateway))
        try expectEachOnce(calls, gateway)
    }

    @Test(
        "a right that is taken away is named, refuses what needs it, and comes back by itself",
        arguments: ["evalsha", "mget", "get", "set", "time", "info"])
    func withdrawn(_ command: String) throws {
        let (gateway, device) = try start()
        var calls = [try serve(device, gateway)]
        try security.change("-\(command)", at: [redis])
        #expect(try refusal(device, gateway) == "503 store_unavailable")
        try event("counters_failed", saying: "'\(command)' command", gateway)
        try gateway.waitForReadiness(503)
        // Nor does a new connection do better, and it says the same.
        try RedisSecurity.cut([redis])
        #expect(try refusal(device, gateway) == "503 store_unavailable")
        try security.change("+\(command)", at: [redis])
        calls.append(try serve(device, gateway))
        try gateway.waitForReadiness(200)
        try expectEachOnce(calls, gateway)
    }

    @Test(
        "a gateway that starts without a right says which, and serves when it has it",
        arguments: ["eval", "evalsha", "script|load", "get", "mget", "set", "time", "info"])
    func lacking(_ right: String) throws {
        try security.change("-\(right)", at: [redis])
        let gateway = try site.start()
        #expect(
            try gateway.exchange("GET", "/assert/challenge").verdict == "503 store_unavailable")
        try event("store_down", saying: "'\(right)' command", gateway)
        let unready = try gateway.admin("/readyz")
        #expect(unready.status == 503)
        #expect(unready.bodyText.hasPrefix("unavailable: counters\ncounters: "))
        #expect(unready.bodyText.contains("'\(right)' command"))
        try security.change("+\(right)", at: [redis])
        let device = try site.enrolledDevice(at: gateway)
        try expectEachOnce([try serve(device, gateway)], gateway)
    }

    @Test("a user that is deleted ends its connections: the reason, and back with the user")
    func deleted() throws {
        let (gateway, device) = try start()
        var calls = [try serve(device, gateway)]
        try security.deleteUser(at: [redis])
        #expect(try refusal(device, gateway) == "503 store_unavailable")
        try event("store_down", saying: "AUTH: WRONGPASS", gateway)
        try security.restoreUsers(at: [redis])
        calls.append(try serve(device, gateway))
        try expectEachOnce(calls, gateway)
        #expect(!gateway.current.text(on: .standardError).contains(RedisSecurity.password))
    }

    @Test("a password that changes before the gateway has the new one: the reason, and a reload")
    func password() throws {
        let (gateway, device) = try start()
        var calls = [try serve(device, gateway)]
        try security.changePassword(to: "another-secret", at: [redis])
        // Those that stand go on, and a new one is refused until the reload.
        calls.append(try serve(device, gateway))
        try RedisSecurity.cut([redis])
        #expect(try refusal(device, gateway) == "503 store_unavailable")
        try event("store_down", saying: "AUTH: WRONGPASS", gateway)
        _ = try gateway.reload(site.configuration)
        calls.append(try serve(device, gateway))
        try expectEachOnce(calls, gateway)
        let said = gateway.current.text(on: .standardError)
        #expect(!said.contains("another-secret") && !said.contains(RedisSecurity.password))
    }
}
