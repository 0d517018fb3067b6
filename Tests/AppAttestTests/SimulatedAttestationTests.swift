import AppAttest
import AppAttestTesting
import Attestation
import AttestationTesting
import Bytes
import CBOR
import Crypto
import JSON
import Testing

/// 2026-10-01T00:00:00Z
let simulatedNow: Int64 = 1_790_812_800
let simulatedAppID = "ABCDE12345.com.example.app"
private let challengeHash = SHA256.hash(Array("challenge".utf8)).array

@Suite("Simulated attestations")
struct SimulatedAttestationTests {
    static let shared = Result { try SimulatedApple(around: simulatedNow) }
    let apple: SimulatedApple

    init() throws { apple = try Self.shared.get() }
}

extension SimulatedAttestationTests {
    private func verifier(
        _ environments: Set<AttestEnvironment>, roots: [Certificate]? = nil, skew: Int64 = 60
    ) -> AttestationVerifier {
        AttestationVerifier(
            roots: roots ?? [apple.root],
            apps: [
                AppIdentity(id: "ABCDE12345.com.example.other", environments: [.production]),
                AppIdentity(id: simulatedAppID, environments: environments),
            ], clockSkewSeconds: skew)
    }

    private func failure(
        _ object: [UInt8], of device: SimulatedDevice, _ verifier: AttestationVerifier? = nil
    ) -> AttestationFailure? {
        let verifier = verifier ?? self.verifier([device.environment])
        do throws(AttestationFailure) {
            _ = try verifier.verify(
                object.span, clientDataHash: challengeHash, keyID: device.keyID, at: simulatedNow)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "of every system and environment are accepted for what they are",
        arguments: SimulatedSystem.allCases, AttestEnvironment.allCases)
    func valid(system: SimulatedSystem, environment: AttestEnvironment) throws {
        let device = try SimulatedDevice(
            appID: simulatedAppID, environment: environment, system: system, bundleVersion: "7.1")
        let object = try device.attest(
            clientDataHash: challengeHash, by: apple, at: simulatedNow)
        let verified = try verifier([environment]).verify(
            object.span, clientDataHash: challengeHash, keyID: device.keyID, at: simulatedNow)
        #expect(verified.keyID == device.keyID)
        #expect(verified.publicKey == device.publicKey)
        #expect(verified.app.id == simulatedAppID)
        #expect(verified.environment == environment)
        #expect(verified.leafNotBefore < simulatedNow && simulatedNow < verified.leafNotAfter)
        let hasMap = system.rawValue.contains("OS27")
        #expect(verified.extensions.bundleVersion == (hasMap ? "7.1" : nil))
        let category: UInt32 = environment == .production ? 4 : 3
        #expect(verified.extensions.validationCategory == (hasMap ? category : nil))
        #expect(
            verified.extensions.others.map(\.name)
                == (system == .iOS27Integer
                    ? ["apple_cd_hash_hash_01", "apple_cd_hash_type_01"] : []))
        let receipt = try #require(verified.receipt)
        let fields = try ReceiptVerifier(roots: [apple.receiptRoot]).verify(
            receipt, appID: simulatedAppID, publicKey: device.publicKey, environment: environment
        ).fields
        #expect(fields.kind == .attest)
        #expect(fields.clientHash == challengeHash)
    }

    @Test(
        "with one fault are refused for exactly that",
        arguments: AttestationFault.allCases, [SimulatedSystem.iOS14, .iOS27, .macOS27])
    func faults(fault: AttestationFault, system: SimulatedSystem) throws {
        let device = try SimulatedDevice(appID: simulatedAppID, system: system)
        let object = try device.attest(
            clientDataHash: challengeHash, by: apple, at: simulatedNow, fault: fault)
        let failure = failure(object, of: device)
        #expect(failure?.code == fault.code, "\(failure.debugDescription)")
    }

    @Test("are asked for another hash only where the nonce alone is wrong, and checked once")
    func otherHash() throws {
        let device = try SimulatedDevice(appID: simulatedAppID)
        let wrong = SHA256.hash(Array("another".utf8)).array
        func outcome(
            _ object: [UInt8], first: [UInt8], other: [UInt8]?, at seconds: Int64 = simulatedNow
        ) -> (code: String?, askedCount: Int) {
            var askedCount = 0
            do throws(AttestationFailure) {
                _ = try verifier([.production]).verify(
                    object.span, clientDataHash: first,
                    otherHash: {
                        askedCount += 1
                        return other
                    }, keyID: device.keyID, at: seconds)
                return (nil, askedCount)
            } catch {
                return (error.code, askedCount)
            }
        }
        let object = try device.attest(clientDataHash: challengeHash, by: apple, at: simulatedNow)
        #expect(outcome(object, first: challengeHash, other: wrong) == (nil, 0))
        #expect(outcome(object, first: wrong, other: challengeHash) == (nil, 1))
        #expect(outcome(object, first: wrong, other: wrong) == ("nonce_mismatch", 1))
        #expect(outcome(object, first: wrong, other: nil) == ("nonce_mismatch", 1))
        let late = simulatedNow + 40 * 86_400
        #expect(outcome(object, first: wrong, other: wrong, at: late) == ("certificate_expired", 0))
        for fault in AttestationFault.allCases where fault.code != "nonce_mismatch" {
            let faulty = try device.attest(
                clientDataHash: challengeHash, by: apple, at: simulatedNow, fault: fault)
            #expect(outcome(faulty, first: challengeHash, other: wrong) == (fault.code, 0))
        }
    }

    @Test("have a fault for every reason to refuse them")
    func codes() {
        #expect(
            Set(AttestationFault.allCases.map(\.code))
                == Set(AttestationFailure.allCodes).subtracting([
                    AttestationFailure.macSecurityReduced.code
                ]))
        #expect(Set(AssertionFault.allCases.map(\.code)) == Set(AssertionFailure.allCodes))
    }

    @Test("are refused under Apple's own root, and with none")
    func otherRoots() throws {
        let device = try SimulatedDevice(appID: simulatedAppID)
        let object = try device.attest(
            clientDataHash: challengeHash, by: apple, at: simulatedNow)
        for roots in [[AppleRoots.appAttestation], [apple.receiptRoot], []] {
            let verifier = verifier([.production], roots: roots)
            #expect(failure(object, of: device, verifier)?.code == "certificate_chain")
        }
    }

    @Test("of the development environment never pass for production, by either name")
    func productionOnly() throws {
        let device = try SimulatedDevice(appID: simulatedAppID, environment: .development)
        let object = try device.attest(
            clientDataHash: challengeHash, by: apple, at: simulatedNow)
        #expect(
            failure(object, of: device, verifier([.production]))
                == .environmentNotAllowed(.development))
        #expect(failure(object, of: device, verifier([])) == .environmentNotAllowed(.development))
        #expect(AttestEnvironment(aaguid: AAGUID.sandbox) == .development)
        #expect(AAGUID.sandbox.array == Array("appattestsandbox".utf8))
        #expect(AAGUID.development.array == Array("appattestdevelop".utf8))
        #expect(
            AAGUID.production.array == Array("appattest".utf8) + [UInt8](repeating: 0, count: 7))
        #expect(AttestEnvironment(aaguid: Bytes16(word0: 0, word1: 0)) == nil)
    }

    @Test("cut to any length inside the authenticator data are malformed, and trap nothing")
    func short() throws {
        let device = try SimulatedDevice(appID: simulatedAppID, system: .iOS27)
        for byteCount in 0..<240 {
            let object = try device.attest(
                clientDataHash: challengeHash, by: apple, at: simulatedNow, receipt: .absent,
                authenticatorDataByteCount: byteCount)
            let failure = failure(object, of: device)
            // 164 bytes are a whole one without its extension map.
            let isWhole = byteCount == 164 || byteCount >= 226
            #expect(failure?.code == (isWhole ? nil : "malformed"), "\(byteCount) bytes")
        }
    }

    @Test("with a damaged or no receipt are accepted, and the receipt by itself is not")
    func receipts() throws {
        let device = try SimulatedDevice(appID: simulatedAppID)
        for form in [ReceiptForm.damaged, .absent] {
            let object = try device.attest(
                clientDataHash: challengeHash, by: apple, at: simulatedNow, receipt: form)
            let verified = try verifier([.production]).verify(
                object.span, clientDataHash: challengeHash, keyID: device.keyID,
                at: simulatedNow)
            #expect((verified.receipt == nil) == (form == .absent))
            guard let receipt = verified.receipt else { continue }
            #expect(throws: ReceiptFailure.self) {
                try ReceiptVerifier(roots: [apple.receiptRoot]).verify(
                    receipt, appID: nil, publicKey: nil)
            }
        }
    }

    @Test("keep the zero bytes that begin a coordinate")
    func leadingZero() throws {
        let key = try SimulatedDevice.keyWithLeadingZero()
        let device = try SimulatedDevice(appID: simulatedAppID, key: key)
        let object = try device.attest(
            clientDataHash: challengeHash, by: apple, at: simulatedNow)
        #expect(failure(object, of: device) == nil)
    }

    @Test("are refused for the key id of another device")
    func otherKeyID() throws {
        let device = try SimulatedDevice(appID: simulatedAppID)
        let other = try SimulatedDevice(appID: simulatedAppID)
        let object = try device.attest(
            clientDataHash: challengeHash, by: apple, at: simulatedNow)
        #expect(failure(object, of: other) == .keyIDMismatch)
    }

    @Test("larger than the bound are refused unread")
    func bound() throws {
        let device = try SimulatedDevice(appID: simulatedAppID)
        let object = [UInt8](repeating: 0xA0, count: AttestationVerifier.byteCountMax + 1)
        #expect(failure(object, of: device)?.code == "malformed")
    }

    @Test("never change their meaning when damaged", arguments: [SimulatedSystem.iOS14, .iOS27])
    func damaged(system: SimulatedSystem) throws {
        var generator = SplitMix64(state: 0xBAD)
        let device = try SimulatedDevice(appID: simulatedAppID, system: system)
        let whole = try device.attest(
            clientDataHash: challengeHash, by: apple, at: simulatedNow, receipt: .damaged)
        let verifier = verifier([.production])
        for _ in 0..<500 {
            let object = generator.damage(whole)
            guard
                let verified = try? verifier.verify(
                    object.span, clientDataHash: challengeHash, keyID: device.keyID,
                    at: simulatedNow)
            else { continue }
            #expect(verified.publicKey == device.publicKey)
            #expect(verified.environment == .production)
            #expect(verified.extensions.bundleVersion == (system == .iOS27 ? "1" : nil))
        }
    }

    @Test("go on from saved state")
    func state() throws {
        let device = try SimulatedDevice(
            appID: simulatedAppID, environment: .development, system: .iOS27, counter: 41)
        let restored = try SimulatedDevice(state: device.state())
        let sameApple = try SimulatedApple(state: apple.state())
        #expect(restored.keyID == device.keyID && restored.counter == 41)
        let object = try restored.attest(
            clientDataHash: challengeHash, by: sameApple, at: simulatedNow)
        #expect(failure(object, of: device) == nil)
        #expect(throws: SimulationError.self) { try SimulatedDevice(state: .object([:])) }
        #expect(throws: SimulationError.self) { try SimulatedApple(state: .null) }
    }

    @Test(
        "explained give the verifier's verdict and reason",
        arguments: [nil] + AttestationFault.allCases.map(Optional.some))
    func explained(fault: AttestationFault?) throws {
        let device = try SimulatedDevice(appID: simulatedAppID, system: .iOS27)
        let object = try device.attest(
            clientDataHash: challengeHash, by: apple, at: simulatedNow, fault: fault)
        var expected = Expectations(at: simulatedNow)
        expected.clientDataHash = challengeHash
        expected.keyID = device.keyID
        expected.appID = device.appID
        expected.environment = .production
        expected.roots = [apple.root]
        let explanation = Explanation.attestation(object, expecting: expected)
        #expect(explanation.code == fault?.code ?? "ok")
    }
}
