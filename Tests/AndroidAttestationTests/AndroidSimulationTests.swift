import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import AttestationTesting
import Bytes
import Crypto
import JSON
import Testing

@Suite("Simulated Android attestations")
struct AndroidSimulationTests {}

extension AndroidSimulationTests {
    @Test(
        "of every level, version and provisioning are accepted for what they are",
        arguments: [AndroidSecurityLevel.trustedEnvironment, .strongBox],
        [Int64(1), 2, 3, 4, 100, 200, 300, 400, 500])
    func valid(level: AndroidSecurityLevel, version: Int64) throws {
        for provisioning in PhoneProfile.Provisioning.allCases {
            let enrolment = try Enrolment {
                $0.securityLevel = level
                $0.attestationVersion = version
                $0.provisioning = provisioning
            }
            let verified = try enrolment.verify()
            #expect(verified.keyID == enrolment.phone.keyID)
            #expect(verified.publicKey == enrolment.phone.publicKey)
            #expect(verified.app.id == androidPackage)
            #expect(verified.environment == .production)
            #expect(verified.securityLevel == level)
            #expect(verified.osVersion == 140_000)
            #expect(verified.osPatchLevel == 202_609)
            #expect(verified.provisioning.name == provisioning.rawValue)
            #expect(
                verified.provisioning.certificatesIssued == (provisioning == .remote ? 16 : nil))
            #expect(verified.serials.count == (provisioning == .remote ? 5 : 4))
            #expect(verified.serials[0].hex == "1")
            #expect(verified.attestationSerial == verified.serials[1])
        }
    }

    @Test(
        "with one fault are refused for exactly that", arguments: AndroidFault.allCases,
        PhoneProfile.Provisioning.allCases)
    func faults(fault: AndroidFault, provisioning: PhoneProfile.Provisioning) throws {
        let enrolment = try Enrolment(fault: fault) { $0.provisioning = provisioning }
        let failure = try enrolment.failure()
        #expect(failure?.code == fault.code, "\(failure.debugDescription)")
        #expect(failure?.description.isEmpty == false)
    }

    @Test("have a fault for every reason to refuse them")
    func codes() {
        // These need a list, a demand or a point that no key has; see their own tests.
        #expect(
            Set(AndroidFault.allCases.map(\.code)).union(["revoked", "patch_level"])
                == Set(AndroidAttestationFailure.allCodes))
        #expect(
            Set(AndroidAttestationFailure.allCodes).count
                == AndroidAttestationFailure.allCodes.count)
    }

    @Test("are accepted with all that real phones get wrong", arguments: PhoneQuirk.allCases)
    func quirks(quirk: PhoneQuirk) throws {
        for provisioning in PhoneProfile.Provisioning.allCases {
            let enrolment = try Enrolment {
                $0.quirks = [quirk]
                $0.provisioning = provisioning
            }
            #expect(try enrolment.code() == "ok", "\(provisioning)")
        }
        let all = try Enrolment { $0.quirks = Set(PhoneQuirk.allCases) }
        #expect(try all.code() == "ok")
    }

    @Test("explained give the verifier's verdict and reason")
    func explained() throws {
        for fault in [nil] + AndroidFault.allCases.map(Optional.some) {
            let enrolment = try Enrolment(fault: fault)
            var expected = AndroidExpectations(at: androidNow)
            expected.challenge = androidChallenge
            expected.keyID = enrolment.phone.keyID
            expected.packages = [androidPackage]
            expected.signingDigests = [androidDigest]
            expected.roots = [try AndroidWorld.google.root]
            let explanation = Explanation.androidAttestation(enrolment.chain, expecting: expected)
            #expect(explanation.code == fault?.code ?? "ok", "\(explanation.text)")
        }
    }

    // MARK: the caller's own values

    @Test("are for one challenge, of which a long one is hashed")
    func challenges() throws {
        var enrolment = try Enrolment()
        for other in [[], Array(androidChallenge.dropLast()), androidChallenge + [0]] {
            enrolment.challenge = other
            #expect(try enrolment.failure() == .challengeMismatch)
        }
        // An empty challenge is none, also if the phone attests it.
        var empty = try Enrolment(fault: .challengeEmpty)
        empty.challenge = []
        #expect(try empty.failure() == .challengeMismatch)
        for byteCount in [1, 127, 128, 129, 500] {
            let token = [UInt8](repeating: 0x61, count: byteCount)
            let attested = byteCount > 128 ? SHA256.hash(token).array : token
            enrolment.challenge = token
            enrolment.chain = try enrolment.phone.attestation(
                challenge: attested, by: AndroidWorld.google, at: androidNow)
            #expect(try enrolment.code() == "ok", "\(byteCount) bytes")
            enrolment.challenge = attested
            #expect(try enrolment.code() == "ok", "\(byteCount) bytes")
        }
    }

    @Test("are refused for another key id, and for a point that is not on the curve")
    func keys() throws {
        let enrolment = try Enrolment()
        let other = try Enrolment()
        #expect(try enrolment.failure(keyID: other.phone.keyID) == .keyIDMismatch)
        // The hybrid form of a point is as long, and no phone writes it.
        let form = [0x00, 0x04] + enrolment.phone.publicKey.x.array.prefix(8)
        var hybrid = enrolment
        let start = try #require(
            hybrid.chain[0].indices.first { hybrid.chain[0][$0...].starts(with: form) })
        hybrid.chain[0][start + 1] = 0x06
        #expect(try hybrid.failure() == .leafKey)
        let point = P256PublicKey(x: androidDigest, y: androidDigest)
        // The simulator writes the key without looking at it.
        var forged = enrolment
        forged.chain = try enrolment.phone.attestation(
            challenge: androidChallenge, by: AndroidWorld.google, at: androidNow,
            certifying: .p256(point))
        #expect(try forged.failure(keyID: KeyID(of: point)) == .leafKey)
    }

    @Test("are refused under Google's own roots, and under none")
    func roots() throws {
        let enrolment = try Enrolment()
        for roots in [AndroidRoots.published, []] {
            let verifier = AndroidAttestationVerifier(
                roots: roots, apps: [AndroidWorld.app()], clockSkewSeconds: 60)
            #expect(try enrolment.failure(verifier) == .rootUnknown)
        }
        let both = AndroidAttestationVerifier(
            roots: AndroidRoots.published + [try AndroidWorld.google.root],
            apps: [AndroidWorld.app()], clockSkewSeconds: 60)
        #expect(try enrolment.code(both) == "ok")
    }

    @Test("go on from saved state")
    func state() throws {
        let enrolment = try Enrolment {
            $0.securityLevel = .strongBox
            $0.provisioning = .remote
            $0.packages.append("com.example.second")
            $0.bootState = .selfSigned
            $0.isLocked = false
            $0.quirks = [.lockedAsOne, .unsortedSets]
        }
        let phone = try SimulatedPhone(state: enrolment.phone.state())
        #expect(phone.keyID == enrolment.phone.keyID)
        #expect(phone.profile == enrolment.phone.profile)
        let google = try SimulatedGoogle(state: AndroidWorld.google.state())
        var other = try Enrolment()
        other.chain = try other.phone.attestation(
            challenge: androidChallenge, by: google, at: androidNow)
        #expect(try other.code() == "ok")
        #expect(throws: SimulationError.self) { try SimulatedPhone(state: .object([:])) }
        #expect(throws: SimulationError.self) { try SimulatedGoogle(state: .null) }
    }

    @Test("sign requests with one fault", arguments: PhoneSignatureFault.allCases)
    func signatureFaults(fault: PhoneSignatureFault) throws {
        let phone = try Enrolment().phone
        let clientData = Array(#"{"challenge":"c"}"#.utf8)
        let signature = try phone.sign(clientData: clientData, fault: fault)
        var verifier = try P256Verifier()
        let isValid = verifier.isValid(
            signature: signature.span, message: clientData.span, key: phone.publicKey)
        #expect(!isValid)
    }

    @Test("are verified by the signature of the key they certify, and by no other")
    func signatures() throws {
        let phone = try Enrolment().phone
        let clientData = Array(#"{"challenge":"c"}"#.utf8)
        let signature = try phone.sign(clientData: clientData)
        var verifier = try P256Verifier()
        func isValid(_ signature: [UInt8], _ data: [UInt8], _ key: P256PublicKey) throws -> Bool {
            let check = AndroidSignature.check(
                signature, clientDataHash: SHA256.hash(data), key: key)
            guard let check else { return false }
            return verifier.isValid(
                signature: check.bytes.span.extracting(check.signature), digest: check.digest,
                key: check.key)
        }
        #expect(try isValid(signature, clientData, phone.publicKey))
        #expect(try !isValid(signature, clientData + [0x20], phone.publicKey))
        #expect(try !isValid(signature, clientData, Enrolment().phone.publicKey))
        #expect(try !isValid(signature + [0], clientData, phone.publicKey))
        #expect(try !isValid([], clientData, phone.publicKey))
        let long = [UInt8](repeating: 0x30, count: AndroidSignature.byteCountMax + 1)
        #expect(try !isValid(long, clientData, phone.publicKey))
    }
}
