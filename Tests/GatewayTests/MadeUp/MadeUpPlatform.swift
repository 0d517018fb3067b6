import Attestation
import Bytes
import Crypto
import JSON
import Settings

@testable import Gateway

/// A platform that exists for tests alone: a key vouches for itself once, and then signs the client
/// data of each request (ES256). It does not count its signatures.
final class MadeUpPlatform: Platform {
    static let platformName = PlatformName("madeup")
    static let appID = "com.example.madeup"
    static let app = AppIdentity(
        id: appID, platform: platformName, environments: [.production])

    /// All that a gateway has to be told of it.
    static let entry = PlatformEntry(name: platformName, hasCounters: false, countedDetails: []) {
        settings in
        MadeUpPlatform(apps: settings.apps.filter { $0.platform == platformName })
    }

    let apps: [AppIdentity]

    init(apps: [AppIdentity]) { self.apps = apps }

    var name: PlatformName { Self.platformName }

    func evidence(
        in members: borrowing JSONObjectReader
    ) throws(EnrolmentFormFailure) -> EnrolmentEvidence {
        var objects: [[UInt8]] = []
        for name in ["point", "app", "signature"] {
            guard let text = members.string(named: name) else {
                throw .members("point, app and signature must be strings.")
            }
            guard let object = Base64.decode(text.span) else {
                throw .base64("point, app and signature must be base64.")
            }
            objects.append(object)
        }
        return EnrolmentEvidence(objects)
    }

    func verify(
        _ request: EnrolmentRequest, at seconds: Int64
    ) throws(PlatformFailure) -> VerifiedEnrolment {
        let objects = request.evidence.objects
        let point = objects[0]
        guard let key = P256PublicKey(x963: point.span), KeyID(of: key) == request.keyID else {
            throw PlatformFailure(.malformed, code: "madeup_point", description: "no such point")
        }
        let id = String(decoding: objects[1], as: UTF8.self)
        guard let app = apps.first(where: { $0.id == id }) else {
            throw PlatformFailure(.appMismatch, code: "madeup_app", description: "no such app")
        }
        let digest = SHA256.hash(objects[1] + request.challenge)
        guard Self.isSigned(objects[2], digest, by: key) else {
            throw PlatformFailure(.other, code: "madeup_signature", description: "not signed")
        }
        var enrolment = VerifiedEnrolment(
            keyID: request.keyID, publicKey: key, app: app, environment: .production)
        enrolment.securityLevel = .strongbox
        enrolment.details = [EnrolmentDetail(name: "madeup_detail", value: .word("yes"))]
        return enrolment
    }

    private static func isSigned(
        _ signature: [UInt8], _ digest: Bytes32, by key: P256PublicKey
    ) -> Bool {
        guard var verifier = try? P256Verifier() else { return false }
        return verifier.isValid(signature: signature.span, digest: digest, key: key)
    }

    func checkForm(of evidence: Span<UInt8>) throws(PlatformFailure) {
        guard evidence.count > 8, evidence[0] == 0x30 else {
            throw PlatformFailure(
                .malformed, code: "malformed", description: "no DER of a signature")
        }
    }

    func unverified(
        _ evidence: [UInt8], clientDataHash: Bytes32, publicKey: P256PublicKey
    ) throws(PlatformFailure) -> UnverifiedRequest {
        try checkForm(of: evidence.span)
        return UnverifiedRequest(
            check: P256Check(
                bytes: evidence, signature: evidence.indices, digest: clientDataHash,
                key: publicKey),
            signedRange: 0..<0)
    }

    func facts(
        of evidence: borrowing SignedEvidence, appDigest: Bytes32
    ) throws(PlatformFailure) -> RequestFacts {
        RequestFacts(.challenge(mark: UInt32(truncatingIfNeeded: evidence.digest.word0)))
    }
}
