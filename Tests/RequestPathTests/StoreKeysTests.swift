import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

/// The `keys` command beside a gateway that runs.
@Suite("Keys by hand, while the gateway runs", .timeLimit(.minutes(30)))
struct StoreKeysTests {}

extension StoreKeysTests {
    @discardableResult
    private func keys(
        _ gateway: GatewayProcess, _ words: String..., input: String = "",
        expecting status: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> ChildProcess.Outcome {
        let outcome = try BuiltProgram.run(
            ["keys", words[0], "-c", gateway.configurationPath] + words.dropFirst(),
            standardInput: Array(input.utf8))
        #expect(
            outcome.status == .exited(status), "\(outcome.standardError)",
            sourceLocation: sourceLocation)
        return outcome
    }

    /// What the gateway says to newly signed requests once it has stopped to accept them.
    private func refusal(
        of device: SimulatedDevice, at gateway: GatewayProcess
    ) throws -> String {
        try gateway.poll { client in
            let challenge = try client.exchange("GET", "/assert/challenge").bodyText
            let answer = try device.call("window", challenge: challenge).exchange(on: client)
            return answer.status == 200 ? nil : answer.verdict
        }
    }

    @Test("a key revoked beside embedded counters is refused soon, and for good")
    func revokeEmbedded() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let other = try site.enrolledDevice(at: gateway)
        let body = try site.attestation(device, gateway)
        for device in [device, other] {
            #expect(try device.call("strict", at: gateway).exchange(with: gateway).status == 200)
        }
        let outcome = try keys(gateway, "revoke", device.keyID.base64)
        #expect(outcome.standardOutput == "\(device.keyID.base64): revoked\n")
        #expect(try refusal(of: device, at: gateway) == "403 key_revoked")
        for route in ["strict", "window", "durable", "body"] {
            // Another worker may hear of it a moment later.
            let verdict = try gateway.poll { client in
                let answer = try device.call(route, at: gateway).exchange(on: client)
                return answer.status == 200 ? nil : answer.verdict
            }
            #expect(verdict == "403 key_revoked")
        }
        // Neither the old attestation nor another one brings it back.
        let old = try gateway.exchange("POST", "/attest/verify", body: body)
        #expect(old.verdict == "403 key_revoked")
        #expect(try site.enrol(device, at: gateway).verdict == "403 key_revoked")
        try gateway.restart(byKill: true)
        #expect(
            try device.call("window", at: gateway).exchange(with: gateway).verdict
                == "403 key_revoked")
        #expect(try other.call("window", at: gateway).exchange(with: gateway).status == 200)
    }

    @Test(
        "a key revoked beside Redis is refused at once by every gateway",
        .enabled(if: RedisServer.isInstalled))
    func revokeRedis() throws {
        let redis = try RedisServer()
        let site = try FaultSite(redis: redis)
        let gateways = [try site.start(), try site.start()]
        let device = try site.enrolledDevice(at: gateways[0])
        // In both caches, and signed before.
        for gateway in gateways {
            #expect(try device.call("window", at: gateway).exchange(with: gateway).status == 200)
        }
        let calls = try gateways.map { try device.call("window", at: $0) }
        try keys(gateways[0], "revoke", device.keyID.base64)
        for (call, gateway) in zip(calls, gateways) {
            #expect(try call.exchange(with: gateway).verdict == "403 key_revoked")
        }
        // A Redis that has lost the mark revives no key.
        try redis.command("FLUSHALL")
        for gateway in gateways {
            let verdict = try gateway.poll { client in
                let challenge = try client.exchange("GET", "/assert/challenge").bodyText
                let answer = try device.call("window", challenge: challenge).exchange(on: client)
                #expect(answer.status != 200)
                return answer.code == "challenge_expired" ? nil : answer.verdict
            }
            #expect(verdict == "403 key_revoked")
        }
        #expect(site.seenBodies.count == 2)
    }

    @Test(
        "a revocation that Redis did not hear of is an error, and lasts all the same",
        .enabled(if: RedisServer.isInstalled))
    func revokeWithoutRedis() throws {
        let redis = try RedisServer()
        let site = try FaultSite(redis: redis)
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        try redis.kill()
        let outcome = try keys(gateway, "revoke", device.keyID.base64, expecting: 1)
        #expect(outcome.standardError.contains("redis"), "\(outcome.standardError)")
        try redis.start()
        let verdict = try gateway.poll { client in
            let challenge = try client.exchange("GET", "/assert/challenge").bodyText
            let answer = try device.call("window", challenge: challenge).exchange(on: client)
            #expect(answer.status != 200)
            return answer.status == 403 ? answer.verdict : nil
        }
        #expect(verdict == "403 key_revoked")
    }

    @Test("an erased key is gone, and cannot enrol again")
    func erase() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let body = try site.attestation(device, gateway)
        #expect(try device.call("durable").exchange(with: gateway).status == 200)
        try keys(gateway, "erase", device.keyID.base64)
        #expect(try refusal(of: device, at: gateway) == "401 key_unknown")
        for body in [body, try site.attestation(device, gateway)] {
            let answer = try gateway.exchange("POST", "/attest/verify", body: body)
            #expect(answer.verdict == "403 attestation_invalid")
        }
        let shown = try keys(gateway, "show", device.keyID.base64).standardOutput
        #expect(shown.contains(#""status":"erased""#))
        #expect(!shown.contains("public_key") && !shown.contains("receipt"))
        // The tombstone goes along to another registry, and nothing else does. Until the gateway
        // heard of the erasure, it may have accepted more.
        let exported = try keys(gateway, "export").standardOutput
        let counter = try #require(try JSONValue.parse(exported)["counter"]?.integerValue)
        #expect(
            exported
                == #"{"key_id":"\#(device.keyID.base64)","counter":\#(counter),"#
                + #""status":"erased"}"# + "\n")
        #expect(1...Int64(device.counter) ~= counter)
        let line = KeyLines.line(device, counter: 0)
        let imported = try keys(gateway, "import", input: line, expecting: 1)
        #expect(imported.standardError.contains(device.keyID.base64))
        #expect(try refusal(of: device, at: gateway) == "401 key_unknown")
    }

    @Test("an import takes the lines that are right, and names those that are not")
    func faultyLines() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let enrolled = try site.enrolledDevice(at: gateway)
        let devices = try (0..<4).map { _ in try site.device() }
        let good = devices.map { KeyLines.line($0, counter: 7) }
        let lines = [
            good[0],
            "not json",
            "",
            good[1].replacingOccurrences(of: "key_id", with: "keyid"),
            good[1].replacingOccurrences(of: "production", with: "sandbox"),
            good[1].replacingOccurrences(of: #""counter":7"#, with: #""counter":4294967296"#),
            good[1].replacingOccurrences(of: #""counter":7"#, with: #""counter":-1"#),
            good[1].replacingOccurrences(of: GatewayConfiguration.appID, with: "X.y"),
            good[1].replacingOccurrences(
                of: devices[1].keyID.base64, with: devices[2].keyID.base64),
            good[1] + good[1],
            "[]",
            #"{"key_id":""# + String(repeating: "A", count: 100_000) + #""}"#,
            "\u{FEFF}{}",
            good[1].replacingOccurrences(of: "}", with: #","key_id":"twice"}"#),
            good[2] + "\r",
            good[3],
        ]
        // No line feed at the end: the last line counts all the same.
        let outcome = try keys(
            gateway, "import", input: lines.joined(separator: "\n"), expecting: 1)
        let named = outcome.standardError.split(separator: "\n").compactMap { line in
            line.split(separator: ":").dropFirst().first.flatMap { Int($0) }
        }
        #expect(named == [2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14], "\(outcome.standardError)")
        #expect(outcome.standardOutput.contains("imported 3"), "\(outcome.standardOutput)")
        #expect(
            Set(KeyLines(try keys(gateway, "export").standardOutput).keyIDs)
                == Set(([devices[0], devices[2], devices[3], enrolled]).map { $0.keyID.base64 }))
        // What was imported works at once, above the counter it brought.
        for (counter, expected) in [(6, "401 assertion_replayed"), (7, "200")] {
            devices[0].counter = UInt32(counter)
            let call = try devices[0].call("strict", at: gateway)
            #expect(try call.exchange(with: gateway).verdict == expected)
        }
    }

    @Test("an export put into another registry exports the same")
    func roundTrip() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let devices = try (0..<5).map { _ in try site.enrolledDevice(at: gateway) }
        let iPhone = try SimulatedDevice(appID: GatewayConfiguration.appID, system: .iOS27)
        #expect(try site.enrol(iPhone, at: gateway).status == 200)
        for _ in 0..<3 {
            #expect(try devices[0].call("durable").exchange(with: gateway).status == 200)
        }
        try keys(gateway, "revoke", devices[1].keyID.base64)
        try keys(gateway, "erase", devices[2].keyID.base64)
        let exported = try keys(gateway, "export").standardOutput
        #expect(exported.split(separator: "\n").count == 6)

        let second = try FaultSite()
        second.configuration.extraRootPaths = site.configuration.extraRootPaths
        let other = try second.start()
        let outcome = try keys(other, "import", input: exported)
        #expect(outcome.standardOutput.contains("imported 6"), "\(outcome.standardOutput)")
        #expect(try keys(other, "export").standardOutput == exported)
        let again = try keys(other, "import", input: exported)
        #expect(again.standardOutput.contains("unchanged 6"), "\(again.standardOutput)")
        #expect(try keys(other, "export").standardOutput == exported)

        #expect(try devices[0].call("durable").exchange(with: other).status == 200)
        #expect(
            try devices[1].call("strict", at: other).exchange(with: other).verdict
                == "403 key_revoked")
        #expect(
            try devices[2].call("strict", at: other).exchange(with: other).verdict
                == "401 key_unknown")
        #expect(try iPhone.call("strict", at: other).exchange(with: other).status == 200)
    }

    @Test("an import never makes a key usable again, nor lowers its counter")
    func stricterOnly() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let revoked = try site.enrolledDevice(at: gateway)
        try keys(gateway, "revoke", revoked.keyID.base64)
        for _ in 0..<4 {
            #expect(try device.call("durable").exchange(with: gateway).status == 200)
        }
        let lines = [device, revoked].map { KeyLines.line($0, counter: 1) }
        let outcome = try keys(
            gateway, "import", input: lines.joined(separator: "\n"), expecting: 1)
        #expect(outcome.standardError.contains(revoked.keyID.base64))
        #expect(!outcome.standardError.contains(device.keyID.base64))
        let shown = try keys(gateway, "show", device.keyID.base64, revoked.keyID.base64)
        #expect(shown.standardOutput.contains(#""counter":4"#))
        #expect(shown.standardOutput.contains(#""status":"revoked""#))
    }

    @Test("wrong words are usage errors, and no command makes a registry but an import")
    func words() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        try keys(gateway, "revoke", "not-a-key", expecting: 2)
        try keys(gateway, "show", expecting: 2)
        try keys(gateway, "show", Base64.encode([UInt8](repeating: 9, count: 32)), expecting: 1)
        try keys(gateway, "list", "--limit", "-3", expecting: 2)
        try keys(gateway, "list", "--after", "x", expecting: 2)
        try keys(gateway, "explode", expecting: 2)
        try keys(gateway, "import", "/does/not/exist", expecting: 1)
        let path = try site.directory.write(
            String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
                .replacingOccurrences(of: "registry.db", with: "absent.db"), to: "absent.yaml")
        for action in ["export", "list"] {
            let outcome = try BuiltProgram.run(["keys", action, "-c", path])
            #expect(outcome.status == .exited(1))
            #expect(outcome.standardError.contains("no such file"))
        }
        #expect(!FileManager.default.fileExists(atPath: site.directory.path(of: "absent.db")))
    }

    @Test("a large import and enrolments at the same time lose nothing of each other")
    func together() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let imported = try (0..<300).map { _ in try site.device() }
        let input = Array(
            (imported.map { KeyLines.line($0, counter: 0) }.joined(separator: "\n")).utf8)
        let enrolled = try (0..<12).map { _ in try site.device() }
        let bodies = try enrolled.map { try site.attestation($0, gateway) }
        let port = gateway.port
        let path = gateway.configurationPath
        let statuses = try inParallel(5) { thread in
            guard thread > 0 else {
                let outcome = try BuiltProgram.run(
                    ["keys", "import", "-c", path], standardInput: input)
                return outcome.status == .exited(0) ? [200] : [0]
            }
            let client = try RawClient(port: port)
            return try stride(from: thread - 1, to: bodies.count, by: 4).map { index in
                try client.exchange("POST", "/attest/verify", body: bodies[index]).status
            }
        }
        #expect(statuses.joined().allSatisfy { $0 == 200 }, "\(statuses)")
        let known = Set(KeyLines(try keys(gateway, "export").standardOutput).keyIDs)
        #expect(known == Set((imported + enrolled).map { $0.keyID.base64 }))
    }
}

/// Lines of the `keys` command.
struct KeyLines {
    let keyIDs: [String]

    init(_ output: String) {
        keyIDs = output.split(separator: "\n").compactMap { line in
            guard case .object(let members)? = try? JSONValue.parse(Array(line.utf8).span),
                case .string(let keyID)? = members["key_id"]
            else { return nil }
            return keyID
        }
    }

    static func line(_ device: SimulatedDevice, counter: Int) -> String {
        """
        {"key_id":"\(device.keyID.base64)","public_key":"\(Base64.encode(device.publicKey.x963))",\
        "app_id":"\(device.appID)","environment":"production","counter":\(counter)}
        """
    }
}
