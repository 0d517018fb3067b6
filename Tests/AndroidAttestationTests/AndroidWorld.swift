import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import Bytes
import Crypto

/// 2026-10-01T00:00:00Z
let androidNow: Int64 = 1_790_812_800
let androidChallenge = Array("a challenge of the gateway".utf8)
let androidPackage = "com.example.app"
let androidDigest = Bytes32(word0: 0xA, word1: 0xB, word2: 0xC, word3: 0xD)

/// One stand-in for Google that all tests share, because its keys take time.
enum AndroidWorld {
    private static let shared = Result { try SimulatedGoogle(around: androidNow) }

    static var google: SimulatedGoogle {
        get throws { try shared.get() }
    }

    static var profile: PhoneProfile {
        PhoneProfile(package: androidPackage, signingDigest: androidDigest)
    }

    static func app(
        _ demands: AndroidDemands = AndroidDemands(signingDigests: [androidDigest]),
        environments: Set<AttestEnvironment> = [.production], id: String = androidPackage
    ) -> AppIdentity {
        AppIdentity(android: id, environments: environments, demands: demands)
    }

    static func verifier(
        _ apps: [AppIdentity] = [app()], skewSeconds: Int64 = 60
    ) throws -> AndroidAttestationVerifier {
        AndroidAttestationVerifier(
            roots: [try google.root], apps: apps, clockSkewSeconds: skewSeconds)
    }
}

/// A phone with the attestation of its key.
struct Enrolment {
    let phone: SimulatedPhone
    var chain: [[UInt8]]
    var challenge = androidChallenge
    var seconds = androidNow
    var revocations: RevocationList?

    /// `change`: makes the phone another one than that of the default policy.
    init(
        fault: AndroidFault? = nil, seconds: Int64 = androidNow,
        _ change: (inout PhoneProfile) -> Void = { _ in }
    ) throws {
        var profile = AndroidWorld.profile
        change(&profile)
        phone = try SimulatedPhone(profile)
        chain = try phone.attestation(
            challenge: androidChallenge, by: AndroidWorld.google, at: seconds, fault: fault)
    }

    func verify(
        _ verifier: AndroidAttestationVerifier? = nil, keyID: KeyID? = nil
    ) throws -> VerifiedAndroidAttestation {
        try (verifier ?? AndroidWorld.verifier()).verify(
            chain: chain, challenge: challenge, keyID: keyID ?? phone.keyID,
            revocations: revocations, at: seconds)
    }

    /// The reason why it is refused; nil if it is accepted.
    func failure(
        _ verifier: AndroidAttestationVerifier? = nil, keyID: KeyID? = nil
    ) throws -> AndroidAttestationFailure? {
        do {
            _ = try verify(verifier, keyID: keyID)
            return nil
        } catch let failure as AndroidAttestationFailure {
            return failure
        }
    }

    /// The code of the reason, or `ok`.
    func code(_ verifier: AndroidAttestationVerifier? = nil, keyID: KeyID? = nil) throws -> String {
        try failure(verifier, keyID: keyID)?.code ?? "ok"
    }
}
