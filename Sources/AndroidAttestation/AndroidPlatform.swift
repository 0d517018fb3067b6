public import Attestation
public import Bytes
public import Crypto
public import JSON

/// Android's key attestation as a gateway's platform: a certificate chain enrols a key, and each
/// request brings a bare signature over its client data. There is no counter.
public final class AndroidPlatform: Platform {
    /// The knowledge about withdrawn certificates at an enrolment.
    public enum Revocations: Sendable {
        /// The operator looks up none.
        case off
        case list(RevocationList)
        /// There is no list, or none that is young enough.
        case missing
    }

    private let attestations: AndroidAttestationVerifier
    private let revocations: @Sendable () -> Revocations

    /// `revocations`: asked at each enrolment.
    public init(
        _ attestations: AndroidAttestationVerifier,
        revocations: @escaping @Sendable () -> Revocations
    ) {
        self.attestations = attestations
        self.revocations = revocations
    }

    public var name: PlatformName { .android }

    /// The metrics of enrolments.
    public static let countedDetails = [
        CountedDetail(
            name: "provisioning", metric: "sallyport_android_enrolments_total",
            label: "provisioning",
            help: "Enrolled keys of Android phones, by how the phone got its attestation key.")
    ]

    public func evidence(
        in members: borrowing JSONObjectReader
    ) throws(EnrolmentFormFailure) -> EnrolmentEvidence {
        guard members.has("chain") else {
            throw .members("chain must be an array of base64 texts.")
        }
        let texts = members.strings(inArray: "chain")
        var chain: [[UInt8]] = []
        for text in texts {
            guard let certificate = Base64.decode(text) else {
                throw .base64("chain is not base64.")
            }
            chain.append(certificate)
        }
        guard !chain.isEmpty else {
            throw .members("chain must be an array of base64 texts.")
        }
        return EnrolmentEvidence(chain)
    }

    public func verify(
        _ request: EnrolmentRequest, at seconds: Int64
    ) throws(PlatformFailure) -> VerifiedEnrolment {
        let list: RevocationList?
        switch revocations() {
        case .off: list = nil
        case .list(let found): list = found
        case .missing: throw Self.revocationsMissing
        }
        let verified: VerifiedAndroidAttestation
        do throws(AndroidAttestationFailure) {
            verified = try attestations.verify(
                chain: request.evidence.objects, challenge: request.challenge,
                otherChallenge: request.otherChallenge, keyID: request.keyID, revocations: list,
                at: seconds)
        } catch {
            throw PlatformFailure(error)
        }
        var enrolment = VerifiedEnrolment(
            keyID: verified.keyID, publicKey: verified.publicKey, app: verified.app,
            environment: verified.environment)
        enrolment.securityLevel = verified.securityLevel == .strongBox ? .strongbox : .tee
        // The phone itself numbers the leaf, nearly always 1.
        enrolment.certificates = verified.serials.dropFirst().map(\.hex)
        enrolment.attestationCertificate = AttestationCertificate(
            serial: verified.attestationSerial.hex, keyDigest: verified.attestationKeyDigest)
        enrolment.details = [
            EnrolmentDetail(name: "provisioning", value: .word(verified.provisioning.name))
        ]
        if let count = verified.provisioning.certificatesIssued {
            enrolment.details.append(
                EnrolmentDetail(name: "certificates_issued", value: .number(count)))
        }
        return enrolment
    }

    /// No key is enrolled while nothing tells if its chain was withdrawn.
    public static let revocationsMissing = PlatformFailure(
        .unavailable, code: "revocation_list_missing",
        description: "no list of revoked certificates is young enough")

    public func checkForm(of evidence: Span<UInt8>) throws(PlatformFailure) {
        guard (8...AndroidSignature.byteCountMax).contains(evidence.count), evidence[0] == 0x30
        else { throw Self.malformed }
    }

    private static let malformed = PlatformFailure(
        .malformed, code: "malformed", description: "the signature is not an ECDSA one in DER")

    public func unverified(
        _ evidence: [UInt8], clientDataHash: Bytes32, publicKey: P256PublicKey
    ) throws(PlatformFailure) -> UnverifiedRequest {
        try checkForm(of: evidence.span)
        guard
            let check = AndroidSignature.check(
                evidence, clientDataHash: clientDataHash, key: publicKey)
        else { throw Self.malformed }
        return UnverifiedRequest(check: check, signedRange: 0..<0)
    }

    public func facts(
        of evidence: borrowing SignedEvidence, appDigest: Bytes32
    ) throws(PlatformFailure) -> RequestFacts {
        RequestFacts(.challenge(mark: UInt32(truncatingIfNeeded: evidence.digest.word0)))
    }
}

extension PlatformFailure {
    /// An attestation's failure in the words that all platforms share.
    public init(_ failure: AndroidAttestationFailure) {
        let kind: Kind =
            switch failure {
            case .package, .signingDigest: .appMismatch
            default: .other
            }
        self.init(kind, code: failure.code, description: failure.description)
    }
}
