import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import GatewayTesting
import GatewayTokens
import KeyStore
import Settings
import Testing

@testable import Gateway

@Suite("Enrolment")
struct EnrolmentTests {}

extension EnrolmentTests {
    @Test("an attested key is stored, and the same attestation again is answered alike")
    func idempotent() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway, enrols: true)
        let again = try device.attest()
        #expect(again.status == 200)
        #expect(again.member("status") == "attested")
        #expect(again.member("key_id") == device.device.keyID.base64)
        #expect(again.member("environment") == "production")
        #expect(again["Cache-Control"] == "no-store")
        #expect(again[challengeField] != nil)
        #expect(gateway.registry.recordCount == 1)
    }

    @Test("an enrolment is answered again although its challenge is over, and begins no more")
    func late() throws {
        let gateway = try GatewayUnderTest()
        let sealer = try #require(ChallengeSealer(keys: [GatewayUnderTest.challengeKey]))
        let old = Challenge(
            purpose: .attestation, expiresAt: 1, incarnation: Incarnation(0),
            id: Bytes16(word0: 1, word1: 2), keyID: nil)
        let token = String(decoding: sealer.token(of: old), as: UTF8.self)
        let device = try EnrolledDevice(gateway, isKnown: false)
        #expect(try device.attest(challenge: token).code == "challenge_expired")
        #expect(try device.attest().status == 200)
        let again = try device.attest(challenge: token)
        #expect(again.status == 200 && again.member("status") == "attested")
        let forged = try device.attest(challenge: token, fault: .otherNonce)
        #expect(forged.code == "attestation_invalid")
        #expect(gateway.registry.recordCount == 1)
    }

    @Test("the challenge that an enrolment's answer carries serves the first assertion")
    func challengeOfTheAnswer() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway, enrols: true)
        let challenge = try #require(device.challenge)
        let other = try EnrolledDevice(gateway)
        #expect(
            try other.request("GET", "/attested/x", challenge: challenge).code
                == "challenge_expired")
        #expect(try device.request("GET", "/attested/x", challenge: challenge).status == 200)
    }

    @Test("of Macs only those with the list of Full Security enrol where that is demanded")
    func fullSecurity() throws {
        func demand(_ settings: inout Settings) {
            settings.apps = settings.apps.map {
                AppIdentity(
                    id: $0.id, environments: $0.environments, requiresMacFullSecurity: true)
            }
        }
        let list = SimulatedSystem.macOS27.accessControlDigest
        let trusting = try GatewayUnderTest(
            platforms: [.appAttest(macFullSecurityDigest: list)], demand)
        let mac = try EnrolledDevice(trusting, system: .macOS27, enrols: true)
        #expect(try mac.request("GET", "/attested/x").status == 200)
        #expect(trusting.upstream.requests.last?["X-Attest-Result"] == "verified")
        // A phone's list is never compared.
        _ = try EnrolledDevice(trusting, system: .iOS26, enrols: true)
        #expect(try trusting.logLines().contains { $0.contains(#""mac_security":"full""#) })
        #expect(trusting.hub.meters[0].enrolmentDetails.counts == ["mac_security=full": 1])
        // The same Mac elsewhere has a list that nobody knows.
        let strict = try GatewayUnderTest(demand)
        let other = try EnrolledDevice(strict, system: .macOS27, isKnown: false)
        let refused = try other.attest()
        #expect(refused.status == 403)
        #expect(refused.code == "attestation_invalid")
        #expect(refused.member("action") == "none")
        #expect(strict.registry.recordCount == 0)
    }

    @Test("a challenge comes as plain text, or as JSON where that is asked for")
    func challenges() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        let sealer = try #require(ChallengeSealer(keys: [GatewayUnderTest.challengeKey]))
        func isOurs(_ token: [UInt8]) -> Bool { sealer.open(token.span) != nil }
        for path in ["/attest/challenge", "/assert/challenge"] {
            let plain = try client.exchange("GET", path)
            #expect(plain["Content-Type"] == "text/plain; charset=us-ascii")
            #expect(plain["Cache-Control"] == "no-store")
            #expect(isOurs(plain.body))
            let json = try client.exchange(
                "POST", path, fields: [("Accept", "text/html, application/json")])
            let token = try #require(json.member("challenge"))
            #expect(isOurs(Array(token.utf8)))
            #expect(json.bodyText.contains("\"expires_in\":120"))
            let head = try client.exchange("HEAD", path)
            #expect(head.status == 200)
            #expect(head["Content-Length"] == "\(plain.body.count)")
        }
    }

    @Test("a challenge that is bound to a key lives longer and enrols no other key")
    func boundChallenge() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway)
        let keyID = device.device.keyID.base64
        let json = try device.client.exchange(
            "GET", "/attest/challenge?key_id=\(keyID)", fields: [("Accept", "application/json")])
        #expect(json.bodyText.contains("\"expires_in\":86400"))
        let token = try #require(json.member("challenge"))
        let other = try EnrolledDevice(gateway)
        #expect(try other.attest(challenge: token).code == "challenge_expired")
        #expect(try device.attest(challenge: token).status == 200)
    }

    @Test(
        "a key id that cannot be read is refused: nobody gets a challenge bound to nothing for it")
    func unreadableKeyID() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        let keyID = Self.keyID
        for path in ["/attest/challenge", "/assert/challenge"] {
            #expect(try client.exchange("GET", "\(path)?key_id=\(keyID)").status == 200)
            for query in [
                "key_id=", "key_id", "key_id=AAAA", "key_id=%ZZ", "key_id=%", "key%5fid=AAAA",
                // 31, 33 and 32 bytes, these with a stray digit, twice, and beside bad encoding.
                "key_id=\(String(repeating: "A", count: 42))",
                "key_id=\(String(repeating: "A", count: 44))",
                "key_id=\(String(repeating: "A", count: 42))B",
                "key_id=\(keyID)&key_id=\(keyID)", "key_id=\(keyID)&key%5Fid=",
                "key_id=\(keyID)%", "key_id=%20\(keyID)", "key_id=\(keyID)+",
            ] {
                for method in ["GET", "POST"] {
                    let answer = try client.exchange(method, "\(path)?\(query)")
                    #expect(answer.status == 400, "\(query)")
                    #expect(answer["Content-Type"] == "application/problem+json")
                    #expect(answer.code == "bad_request")
                    #expect(answer.member("detail")?.isEmpty == false)
                }
            }
        }
    }

    /// 32 zero bytes.
    private static let keyID = String(repeating: "A", count: 43)

    @Test("the challenge may come back as the token, its base64, or what it stands for")
    func challengeForms() throws {
        let gateway = try GatewayUnderTest()
        for form in 0..<4 {
            let device = try EnrolledDevice(gateway, appID: GatewayUnderTest.appID)
            let token = try device.fetchChallenge("/attest/challenge")
            let characters = Array(token.utf8)
            let raw = Base64.decode(characters.span) ?? []
            let (hashed, sent) =
                switch form {
                case 0: (characters, token)
                case 1: (characters, Base64.encode(characters))
                case 2: (raw, token)
                default: (raw, Base64.encode(raw))
                }
            let attestation = try device.device.attest(
                clientDataHash: SHA256.hash(hashed).array, by: gateway.apple, at: device.now)
            let answer = try device.send(
                "POST", "/attest/verify", body: device.enrolment(attestation, challenge: sent))
            #expect(answer.status == 200, "form \(form): \(answer.bodyText)")
        }
    }

    @Test("a challenge enrols one key, and an assertion's challenge none")
    func spentChallenge() throws {
        let gateway = try GatewayUnderTest()
        let first = try EnrolledDevice(gateway, isKnown: false)
        let second = try EnrolledDevice(gateway, isKnown: false)
        let token = try first.fetchChallenge("/attest/challenge")
        #expect(try first.attest(challenge: token).status == 200)
        let spent = try second.attest(challenge: token)
        #expect(spent.code == "challenge_expired")
        #expect(spent.member("action") == "fetch_challenge")
        let wrong = try second.fetchChallenge("/assert/challenge")
        #expect(try second.attest(challenge: wrong).code == "challenge_expired")
        #expect(try second.attest(challenge: "made up").code == "challenge_expired")
        #expect(gateway.registry.recordCount == 1)
    }

    @Test("an attestation with a fault enrols nothing")
    func faults() throws {
        let gateway = try GatewayUnderTest()
        for fault in AttestationFault.allCases {
            let device = try EnrolledDevice(gateway, isKnown: false)
            let answer = try device.attest(fault: fault)
            #expect(answer.status == 403, "\(fault)")
            #expect(answer.code == "attestation_invalid", "\(fault)")
            #expect(answer.member("action") == "attest_again")
            #expect(!answer.bodyText.contains("chain"))
            #expect(answer[challengeField] == nil)
        }
        #expect(gateway.registry.calls.isEmpty)
    }

    @Test("garbage is answered, not stored")
    func garbage() throws {
        let gateway = try GatewayUnderTest()
        let client = try gateway.client()
        for body in [
            "", "{", "[]", "null", "{}", #"{"key_id":1,"attestation":"AA==","challenge":"x"}"#,
            #"{"key_id":"AA==","attestation":"AA==","challenge":"x"}"#,
            #"{"key_id":"k","key_id":"k","attestation":"AA==","challenge":"x"}"#,
            #"{"attestation":"AA==","challenge":"x"}"#, "\u{0}\u{1}",
        ] {
            let answer = try client.exchange("POST", "/attest/verify", body: Array(body.utf8))
            #expect(answer.status == 400, "\(body)")
            #expect(answer.code == "bad_request", "\(body)")
        }
        #expect(gateway.registry.calls.isEmpty)
    }

    @Test("revoked and erased keys cannot enrol again")
    func refusedKeys() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway, enrols: true)
        gateway.registry.set(.revoked, of: device.device.keyID)
        let revoked = try device.attest()
        #expect(revoked.status == 403)
        #expect(revoked.code == "key_revoked")
        gateway.registry.set(.erased, of: device.device.keyID)
        #expect(try device.attest().code == "attestation_invalid")
    }

    @Test("a registry that fails enrols nobody and says so; the same attestation then passes")
    func registryFails() throws {
        let gateway = try GatewayUnderTest()
        let device = try EnrolledDevice(gateway, isKnown: false)
        let token = try device.fetchChallenge("/attest/challenge")
        gateway.registry.fail("the disk is full")
        let failed = try device.attest(challenge: token)
        #expect(failed.status == 503)
        #expect(failed.code == "store_unavailable")
        #expect(failed["Retry-After"] == "1")
        #expect(!failed.bodyText.contains("disk"))
        gateway.registry.fail(nil)
        #expect(try device.attest(challenge: token).status == 200)
    }

    @Test("a registry that hangs leaves the outcome unknown: the same attestation tells it later")
    func registryHangs() throws {
        let gateway = try GatewayUnderTest { $0.timeouts.registry = .milliseconds(100) }
        let gate = Gate()
        let device = try EnrolledDevice(gateway, isKnown: false)
        let token = try device.fetchChallenge("/attest/challenge")
        gateway.registry.hold(until: gate)
        let unknown = try device.attest(challenge: token)
        #expect(unknown.status == 503)
        #expect(unknown.code == "store_unavailable")
        #expect(unknown.member("action") == "retry_later")
        try gateway.reload { $0.timeouts.registry = .seconds(60) }
        gate.open()
        #expect(try device.attest(challenge: token).status == 200)
        #expect(gateway.registry.recordCount == 1)
        #expect(try device.request("GET", "/attested/x").status == 200)
        #expect(try gateway.logLines().contains { $0.contains(#""detail":"registry_unknown""#) })
    }

    @Test("no answer comes before the registry's, and a client that left is not answered")
    func waitsForCommit() throws {
        let gateway = try GatewayUnderTest()
        let gate = Gate()
        let device = try EnrolledDevice(gateway, isKnown: false)
        let leaving = try EnrolledDevice(gateway, isKnown: false)
        gateway.registry.hold(until: gate)
        let bodies = try [device, leaving].map { device in
            let token = try device.fetchChallenge("/attest/challenge")
            let attestation = try device.device.attest(
                clientDataHash: SHA256.hash(Array(token.utf8)).array, by: gateway.apple,
                at: device.now)
            return device.enrolment(attestation, challenge: token)
        }
        try leaving.client.send("POST", "/attest/verify", body: bodies[1])
        try gateway.registry.waitForCalls(1)
        leaving.client.socket.reset()
        try device.client.send("POST", "/attest/verify", body: bodies[0])
        try gateway.registry.waitForCalls(2)
        gate.open()
        #expect(try device.client.receive().status == 200)
        device.client.socket.close()
        gateway.stop()
        #expect(gateway.registry.recordCount == 2)
        let outcomes = gateway.outcomes(of: "attest/verify")
        #expect(outcomes["answered ok"] == 1)
        #expect(outcomes.values.reduce(0, +) == 2)
    }

    @Test("an attestation larger than what bodies may hold in memory is read back from its file")
    func largeForMemory() throws {
        let gateway = try GatewayUnderTest { $0.limits.bodyMemoryByteCountMax = 1024 }
        let device = try EnrolledDevice(gateway, isKnown: false)
        #expect(try device.attest().status == 200)
    }

    @Test("endpoints take their methods, and bodies up to their bound")
    func methods() throws {
        let gateway = try GatewayUnderTest { $0.endpoints.bodyByteCountMax = 1024 }
        let client = try gateway.client()
        let get = try client.exchange("GET", "/attest/verify")
        #expect(get.status == 405)
        #expect(get["Allow"] == "POST")
        let put = try client.exchange("PUT", "/assert/challenge")
        #expect(put.status == 405)
        #expect(put["Allow"] == "GET, HEAD, POST")
        let admin = try RawClient(port: gateway.adminPort)
        let post = try admin.exchange("POST", "/metrics")
        #expect(post.status == 405)
        #expect(post["Allow"] == "GET, HEAD")
        let large = try client.exchange(
            "POST", "/attest/verify", body: [UInt8](repeating: 0x20, count: 1025))
        #expect(large.status == 413)
        #expect(large.code == "body_too_large")
    }

    @Test("a base for the endpoints moves them, and only them")
    func base() throws {
        let gateway = try GatewayUnderTest { $0.endpoints.base = "/gate/" }
        let client = try gateway.client()
        #expect(try client.exchange("GET", "/gate/assert/challenge")["Cache-Control"] == "no-store")
        #expect(try client.exchange("GET", "/assert/challenge").bodyText == "hello\n")
    }
}
