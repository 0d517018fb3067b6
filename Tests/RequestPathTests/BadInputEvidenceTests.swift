import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import Testing

/// Attestations and assertions that are wrong in one place, or in many.
@Suite("Garbage for evidence", .timeLimit(.minutes(30)))
struct BadInputEvidenceTests {
    private let site: FaultSite
    private let gateway: GatewayProcess

    init() throws {
        site = try FaultSite()
        site.configuration.routes.append(
            .init(
                "fresh", path: "/fresh/*",
                attest: "mode: enforce, client_data: body, challenge: required"))
        site.configuration.routes.append(
            .init("watched", path: "/watched/*", attest: "mode: observe"))
        gateway = try site.start()
    }
}

extension BadInputEvidenceTests {
    private func expectHonestService() throws {
        #expect(gateway.isUnharmed, "\(gateway.alarms)")
        let device = try site.enrolledDevice(at: gateway)
        let answer = try device.call("strict", at: gateway).exchange(with: gateway)
        #expect(answer.verdict == "200")
    }

    /// One seeded change: a bit, a byte, a cut, a repetition, an insertion.
    private func mutate(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        guard !bytes.isEmpty else { return [0] }
        let index = Int.random(in: bytes.indices, using: &generator)
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 1: bytes[index] = UInt8.random(in: 0...255, using: &generator)
        case 2: bytes.removeLast(bytes.count - index)
        case 3: bytes.insert(contentsOf: bytes[..<index], at: index)
        case 4: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: index)
        default: bytes.remove(at: index)
        }
        return bytes
    }

    @Test("mutated attestations enrol nobody", arguments: [11, 12, 13])
    func attestations(seed: UInt64) throws {
        var generator = SeededGenerator(seed)
        let device = try site.device()
        let challenge = try gateway.challenge("/attest/challenge")
        let genuine = try device.attest(
            clientDataHash: Array(challenge.utf8).sha256, by: site.apple,
            at: Int64(Date().timeIntervalSince1970), receipt: .absent)
        let client = try gateway.connect()
        for _ in 0..<120 {
            var object = mutate(genuine, &generator)
            if Bool.random(using: &generator) { object = mutate(object, &generator) }
            guard object != genuine else { continue }
            let answer = try client.exchange(
                "POST", "/attest/verify",
                body: FaultSite.attestationBody(
                    keyID: device.keyID.base64, attestation: Base64.encode(object),
                    challenge: challenge))
            // A mutation may hit what nothing covers, such as a certificate's outer form: then it
            // is the same key all the same.
            #expect(
                ["403 attestation_invalid", "200"].contains(answer.verdict), "\(answer.verdict)")
            if answer.status == 200 { break }
        }
        // Texts that are no base64, challenges that are none, keys of others.
        for (keyID, attestation, token, verdict) in [
            ("***", Base64.encode(genuine), challenge, "400 bad_request"),
            (device.keyID.base64, "***", challenge, "400 bad_request"),
            (device.keyID.base64, Base64.encode(genuine), "***", "401 challenge_expired"),
            (
                device.keyID.base64, Base64.encode(genuine), try gateway.challenge(),
                "401 challenge_expired"
            ),
            (
                Base64.encode([UInt8](repeating: 1, count: 32)), Base64.encode(genuine), challenge,
                "403 attestation_invalid"
            ),
            (device.keyID.base64, "", challenge, "403 attestation_invalid"),
        ] {
            let body = FaultSite.attestationBody(
                keyID: keyID, attestation: attestation, challenge: token)
            #expect(try client.exchange("POST", "/attest/verify", body: body).verdict == verdict)
        }
        try expectHonestService()
    }

    @Test("each single fault of an attestation is 403", arguments: AttestationFault.allCases)
    func attestationFault(fault: AttestationFault) throws {
        let device = try site.device()
        let challenge = try gateway.challenge("/attest/challenge")
        let object = try device.attest(
            clientDataHash: Array(challenge.utf8).sha256, by: site.apple,
            at: Int64(Date().timeIntervalSince1970), fault: fault)
        let answer = try gateway.exchange(
            "POST", "/attest/verify",
            body: FaultSite.attestationBody(
                keyID: device.keyID.base64, attestation: Base64.encode(object),
                challenge: challenge))
        // The gateway of these tests takes both environments.
        #expect(
            answer.verdict == (fault == .otherEnvironment ? "200" : "403 attestation_invalid"))
    }

    @Test("mutated assertions and client data pass nowhere", arguments: [21, 22, 23])
    func assertions(seed: UInt64) throws {
        var generator = SeededGenerator(seed)
        let device = try site.enrolledDevice(at: gateway)
        let client = try gateway.connect()
        let call = try device.call("strict", at: gateway)
        for _ in 0..<200 {
            var fields = call.fields
            let place = Int.random(in: fields.indices, using: &generator)
            let raw = try #require(Base64.decode(fields[place].1))
            // Either what the base64 stands for is changed, or its text.
            let changed =
                Bool.random(using: &generator)
                ? Base64.encode(mutate(raw, &generator))
                : String(
                    decoding: mutate(Array(fields[place].1.utf8), &generator).filter {
                        $0 > 0x20 && $0 < 0x7F
                    }, as: UTF8.self)
            guard Base64.decode(changed) != raw else { continue }
            fields[place].1 = changed
            let answer = try client.exchange("POST", call.target, fields: fields, body: call.body)
            #expect(answer.status == 401, "\(fields[place].0): \(answer.verdict)")
            let isKnown =
                [
                    "assertion_malformed", "assertion_invalid", "challenge_expired",
                    "challenge_required", "request_mismatch", "body_mismatch", "key_unknown",
                    "assertion_required",
                ].contains(answer.code ?? "")
            #expect(isKnown, "\(answer.verdict)")
        }
        #expect(site.upstream.requests.isEmpty)
        // After all that the genuine one passes: nothing was spent.
        #expect(try call.exchange(on: client).verdict == "200")
        try expectHonestService()
    }

    @Test("each single fault of an assertion is 401", arguments: AssertionFault.allCases)
    func assertionFault(fault: AssertionFault) throws {
        let device = try site.enrolledDevice(at: gateway)
        for route in ["strict", "watched"] {
            let target = "/\(route)/it"
            let signed = try device.sign(
                method: "POST", path: target, body: [1], challenge: try gateway.challenge(),
                fault: fault)
            let answer = try gateway.exchange(
                "POST", target, fields: signed.headers.map { ($0.name, $0.value) }, body: [1])
            if route == "watched" {
                #expect(answer.status == 200)
            } else {
                let codes = ["assertion_malformed", "assertion_invalid", "assertion_required"]
                #expect(answer.status == 401 && codes.contains(answer.code ?? ""))
            }
        }
        let seen = site.upstream.requests
        #expect(seen.count == 1)
        #expect(seen.first?["X-Attest-Result"] == "unverified")
    }

    @Test("random header values and bodies are refused with a code")
    func randomValues() throws {
        var generator = SeededGenerator(31)
        let client = try gateway.connect()
        func random(_ range: ClosedRange<Int>) -> [UInt8] {
            (0..<Int.random(in: range, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
        }
        for index in 0..<150 {
            let isText = index % 2 == 0
            let fields = ["Assertion", "Client-Data", "Key-Id"].map { name in
                let bytes = random(0...120)
                return (
                    "X-App-Attest-\(name)",
                    isText
                        ? Base64.encode(bytes)
                        : String(decoding: bytes.filter { $0 > 0x20 && $0 < 0x7F }, as: UTF8.self)
                )
            }
            for target in ["/strict/x", "/window/x", "/durable/x", "/body/x", "/fresh/x"] {
                let answer = try client.exchange(
                    "POST", target, fields: fields, body: random(0...64))
                #expect(answer.status == 401 && answer.code != nil, "\(target) \(answer.verdict)")
            }
        }
        for value in ["", String(repeating: "A", count: 20_000), "=", "AA=A", "\u{C3}\u{A9}"] {
            let answer = try client.exchange(
                "POST", "/strict/x", fields: [("X-App-Attest-Assertion", value)])
            #expect(answer.status == 401, "\(answer.verdict)")
        }
        #expect(site.upstream.requests.isEmpty)
        try expectHonestService()
    }

    @Test("repeated and respelled headers are no way in")
    func repeated() throws {
        let device = try site.enrolledDevice(at: gateway)
        let call = try device.call("strict", at: gateway)
        for (name, value) in call.fields {
            let answer = try gateway.exchange(
                "POST", call.target, fields: call.fields + [(name, value)], body: call.body)
            #expect(answer.verdict == "401 assertion_malformed", "\(name)")
        }
        let respelled = call.fields.map {
            ($0.0.replacingOccurrences(of: "-", with: "_"), $0.1)
        }
        _ = try gateway.exchange("POST", "/open/x", fields: respelled, body: [1])
        let seen = try site.upstream.waitForRequests(1)[0].message.fields
        #expect(!seen.contains { $0.name.lowercased().contains("attest") })
    }

    @Test("an attestation is taken also where bodies this long are held in a file")
    func attestationInFile() throws {
        let site = try FaultSite()
        site.configuration.more.append("limits: { body_memory: 1KiB }")
        let gateway = try site.start()
        #expect(try site.enrol(try site.device(), at: gateway).verdict == "200")
    }
}
