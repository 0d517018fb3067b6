import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Testing

private func verifier(
    for vector: Vector, roots: [Certificate] = [AppleRoots.appAttestation],
    environments: Set<AttestEnvironment> = Set(AttestEnvironment.allCases), skew: Int64 = 0
) -> AttestationVerifier {
    AttestationVerifier(
        roots: roots, apps: [AppIdentity(id: vector.appID, environments: environments)],
        clockSkewSeconds: skew)
}

private func failure(
    _ vector: Vector, with verifier: AttestationVerifier? = nil, object: [UInt8]? = nil,
    clientDataHash: [UInt8]? = nil, keyID: KeyID? = nil, seconds: Int64? = nil
) throws -> AttestationFailure? {
    let keyID = try keyID ?? #require(KeyID(base64: vector.keyID))
    let object = object ?? vector.objectBytes
    do throws(AttestationFailure) {
        _ = try (verifier ?? AppAttestTests.verifier(for: vector)).verify(
            object.span, clientDataHash: clientDataHash ?? vector.clientDataHashBytes,
            keyID: keyID, at: seconds ?? vector.seconds)
        return nil
    } catch {
        return error
    }
}

@Suite("Attestations of real devices", .enabled(if: Vectors.arePresent, Vectors.absent))
struct AttestationVectorTests {}

extension AttestationVectorTests {
    static let accepted = Vectors.attestations.filter(\.isAccepted)

    @Test("get their recorded verdict", arguments: Vectors.attestations)
    func verdict(vector: Vector) throws {
        let failure = try failure(vector)
        if let rejection = vector.rejection {
            #expect(failure?.code == rejection)
        } else {
            #expect(failure == nil)
        }
    }

    @Test("say what is recorded of them", arguments: accepted)
    func contents(vector: Vector) throws {
        let object = vector.objectBytes
        let keyID = try #require(KeyID(base64: vector.keyID))
        let verified = try verifier(for: vector).verify(
            object.span, clientDataHash: vector.clientDataHashBytes, keyID: keyID,
            at: vector.seconds)
        #expect(verified.publicKey == vector.point)
        #expect(verified.app.id == vector.appID)
        #expect(verified.environment.rawValue == vector.environment)
        #expect(vector.notBefore.map { RFC3339.text(verified.leafNotBefore) == $0 } ?? true)
        #expect(vector.notAfter.map { RFC3339.text(verified.leafNotAfter) == $0 } ?? true)
        #expect((verified.receipt != nil) == (vector.receipt == "present"))
        #expect(
            verified.accessControl == vector.accessControl.flatMap { Base64.decode($0) })
        // The record has an empty text where the certificate says nothing.
        #expect(verified.systemVersion.version ?? "" == vector.osVersion)
        #expect(verified.systemVersion.build ?? "" == vector.osBuild)
        #expect(verified.systemVersion.platform ?? "" == vector.platform)
        if vector.extensions != nil {
            #expect(verified.extensions.bundleVersion == "1")
            #expect(verified.extensions.validationCategory == 1)
            #expect(verified.extensions.others.isEmpty)
        } else {
            #expect(verified.extensions == ExtensionData())
        }
    }

    @Test("are refused for another challenge, key id, app and time", arguments: accepted)
    func others(vector: Vector) throws {
        let other = SHA256.hash([1])
        #expect(try failure(vector, clientDataHash: other.array) == .nonceMismatch)
        // Apple's samples pass the challenge itself; the others its hash. Never the other way
        // round.
        let hashedAgain = SHA256.hash(vector.clientDataHashBytes).array
        #expect(try failure(vector, clientDataHash: hashedAgain) == .nonceMismatch)
        #expect(try failure(vector, keyID: KeyID(digest: other)) == .keyIDMismatch)
        let elsewhere = AttestationVerifier(
            roots: [AppleRoots.appAttestation],
            apps: [AppIdentity(id: "ABCDE12345.com.example.app", environments: [.production])],
            clockSkewSeconds: 0)
        #expect(try failure(vector, with: elsewhere) == .appMismatch)
        #expect(try failure(vector, seconds: 1_900_000_000) == .certificateExpired)
        #expect(try failure(vector, seconds: 1_590_000_000) == .certificateNotYetValid)
        #expect(try failure(vector, seconds: 0) == .certificateNotYetValid)
    }

    @Test("are judged at the second, give or take the skew", arguments: accepted.prefix(3))
    func skew(vector: Vector) throws {
        let last = try #require(vector.notAfter.flatMap { RFC3339.parse($0) }).seconds
        #expect(try failure(vector, seconds: last) == nil)
        #expect(try failure(vector, seconds: last + 1) == .certificateExpired)
        let patient = verifier(for: vector, skew: 300)
        #expect(try failure(vector, with: patient, seconds: last + 300) == nil)
        #expect(try failure(vector, with: patient, seconds: last + 301) == .certificateExpired)
    }

    @Test("of one environment are refused where only the other is allowed", arguments: accepted)
    func environments(vector: Vector) throws {
        let environment = try #require(
            vector.environment.flatMap { AttestEnvironment(rawValue: $0) })
        let other = Set(AttestEnvironment.allCases.filter { $0 != environment })
        #expect(
            try failure(vector, with: verifier(for: vector, environments: other))
                == .environmentNotAllowed(environment))
        let same = verifier(for: vector, environments: [environment])
        #expect(try failure(vector, with: same) == nil)
    }

    @Test(
        "are refused under every other root",
        arguments: [
            "FAKE_App_Attestation_Root_notAfter_2039.pem",
            "FAKE_selfsigned_Apple_App_Attestation_CA_1.pem", "Apple_WebAuthn_Root_CA.pem",
            "Apple_Root_CA-G3.pem",
        ])
    func otherRoots(name: String) throws {
        let roots = try Vectors.certificates(name)
        for vector in Self.accepted {
            let failure = try failure(vector, with: verifier(for: vector, roots: roots))
            #expect(failure?.code == "certificate_chain")
        }
        let vector = try #require(Self.accepted.first)
        #expect(try failure(vector, with: verifier(for: vector, roots: [])) != nil)
    }

    @Test("are not hurt by another root beside the right one")
    func oneRightRoot() throws {
        let roots =
            try Vectors.certificates("FAKE_selfsigned_Apple_App_Attestation_CA_1.pem")
            + Vectors.certificates("Apple_WebAuthn_Root_CA.pem") + [AppleRoots.appAttestation]
        for vector in Self.accepted {
            #expect(try failure(vector, with: verifier(for: vector, roots: roots)) == nil)
        }
    }

    @Test("never trap and never change their meaning when damaged", arguments: accepted)
    func damaged(vector: Vector) throws {
        var generator = SplitMix64(state: UInt64(vector.seconds))
        let whole = vector.objectBytes
        let keyID = try #require(KeyID(base64: vector.keyID))
        let verifier = verifier(for: vector)
        let original = try verifier.verify(
            whole.span, clientDataHash: vector.clientDataHashBytes, keyID: keyID,
            at: vector.seconds)
        for _ in 0..<150 {
            let object = generator.damage(whole)
            guard
                let verified = try? verifier.verify(
                    object.span, clientDataHash: vector.clientDataHashBytes, keyID: keyID,
                    at: vector.seconds)
            else { continue }
            // The receipt is signed by itself; everything else must be as it was.
            #expect(verified.publicKey == original.publicKey)
            #expect(verified.app == original.app)
            #expect(verified.environment == original.environment)
            #expect(verified.extensions == original.extensions)
            #expect(verified.leafNotAfter == original.leafNotAfter)
        }
    }

    @Test("The roots in the source are Apple's")
    func roots() throws {
        #expect(
            Hex.encode(AppleRoots.appAttestation.fingerprint.array)
                == "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932")
        #expect(
            Hex.encode(AppleRoots.appleRootG3.fingerprint.array)
                == "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179")
        #expect(
            try Vectors.certificates("Apple_App_Attestation_Root_CA.pem")
                == [AppleRoots.appAttestation])
        #expect(try Vectors.certificates("Apple_Root_CA-G3.pem") == [AppleRoots.appleRootG3])
    }
}
