public import Attestation
public import Bytes
public import Crypto
public import JSON

/// Apple's App Attest as a gateway's platform: attestations enrol keys, and each request brings an
/// assertion with a counter.
public final class AppAttestPlatform: Platform {
    private let attestations: AttestationVerifier
    private let receipts: ReceiptVerifier
    private let clockSkewSeconds: Int64

    public init(
        attestations: AttestationVerifier, receipts: ReceiptVerifier, clockSkewSeconds: Int64
    ) {
        self.attestations = attestations
        self.receipts = receipts
        self.clockSkewSeconds = clockSkewSeconds
    }

    public var name: PlatformName { .apple }

    /// The receipt of an attestation is one that Apple's server gives.
    static let receiptType = PlatformFailure(
        .other, code: "receipt_type", description: "the receipt is not one of an attestation")

    /// The metric of enrolments.
    public static let countedDetails = [
        CountedDetail(
            name: MacSecurity.detailName, metric: "sallyport_mac_enrolments_total",
            label: "security", help: "Enrolled keys of Macs, by the Mac's security.")
    ]

    public func evidence(
        in members: borrowing JSONObjectReader
    ) throws(EnrolmentFormFailure) -> EnrolmentEvidence {
        guard let text = members.string(named: "attestation") else {
            throw .members("attestation must be a string.")
        }
        guard let object = Base64.decode(text.span) else {
            throw .base64("attestation is not base64.")
        }
        return EnrolmentEvidence([object])
    }

    public func verify(
        _ request: EnrolmentRequest, at seconds: Int64
    ) throws(PlatformFailure) -> VerifiedEnrolment {
        let object = request.evidence.objects[0]
        let verified: VerifiedAttestation
        do throws(AttestationFailure) {
            verified = try attestations.verify(
                object.span,
                clientDataHash: SHA256.hash(request.challenge.span).array,
                otherHash: { request.otherChallenge.map { SHA256.hash($0.span).array } },
                keyID: request.keyID, at: seconds)
        } catch {
            throw PlatformFailure(error)
        }
        var enrolment = VerifiedEnrolment(
            keyID: verified.keyID, publicKey: verified.publicKey, app: verified.app,
            environment: verified.environment)
        enrolment.bundleVersion = verified.extensions.bundleVersion
        enrolment.validationCategory = verified.extensions.validationCategory
        if verified.macSecurity != .notMac {
            enrolment.details = [
                EnrolmentDetail(
                    name: MacSecurity.detailName, value: .word(verified.macSecurity.rawValue))
            ]
        }
        do throws(PlatformFailure) {
            enrolment.receipt = try receipt(of: verified, at: seconds)
        } catch {
            enrolment.flaw = error
        }
        return enrolment
    }

    /// The receipt, verified by itself: the attestation's nonce does not cover it, so a genuine
    /// attestation may carry a damaged one.
    private func receipt(
        of attestation: VerifiedAttestation, at seconds: Int64
    ) throws(PlatformFailure) -> Receipt? {
        guard let receipt = attestation.receipt else { return nil }
        let fields: ReceiptFields
        do throws(ReceiptFailure) {
            fields = try receipts.verify(
                receipt, appID: attestation.app.id, publicKey: attestation.publicKey,
                environment: attestation.environment,
                creation: attestation.receiptCreation(
                    upTo: seconds, skewSeconds: clockSkewSeconds)
            ).fields
        } catch {
            throw PlatformFailure(error)
        }
        guard fields.kind == .attest else { throw Self.receiptType }
        return Receipt(bytes: receipt, dates: fields.dates)
    }

    public func checkForm(of evidence: Span<UInt8>) throws(PlatformFailure) {
        do throws(AssertionFailure) {
            _ = try UnverifiedAssertion(parsing: evidence)
        } catch {
            throw PlatformFailure(error)
        }
    }

    public func unverified(
        _ evidence: [UInt8], clientDataHash: Bytes32, publicKey: P256PublicKey
    ) throws(PlatformFailure) -> UnverifiedRequest {
        let places: (signature: Range<Int>, authenticatorData: Range<Int>)
        do throws(AssertionFailure) {
            places = try UnverifiedAssertion.places(in: evidence.span)
        } catch {
            throw PlatformFailure(error)
        }
        // Step 2 of Apple's "Validating apps that connect to your server".
        let nonce = SHA256.hash(
            evidence.span.extracting(places.authenticatorData), clientDataHash)
        return UnverifiedRequest(
            check: P256Check(
                bytes: evidence, signature: places.signature,
                digest: AssertionVerifier.signedDigest(of: nonce), key: publicKey),
            signedRange: places.authenticatorData)
    }

    public func facts(
        of evidence: borrowing SignedEvidence, appDigest: Bytes32
    ) throws(PlatformFailure) -> RequestFacts {
        do throws(AssertionFailure) {
            let assertion = try AssertionVerifier.signed(evidence.bytes, rpIDHash: appDigest)
            return RequestFacts(
                .counter(assertion.counter), bundleVersion: assertion.extensions?.bundleVersion,
                validationCategory: assertion.extensions?.validationCategory)
        } catch {
            throw PlatformFailure(error)
        }
    }
}

extension PlatformFailure {
    /// An assertion's failure in the words that all platforms share.
    public init(_ failure: AssertionFailure) {
        let kind: Kind =
            switch failure {
            case .malformed: .malformed
            case .appMismatch: .appMismatch
            case .signatureInvalid: .other
            }
        self.init(kind, code: failure.code, description: failure.description)
    }

    /// A receipt's failure in the words that all platforms share.
    public init(_ failure: ReceiptFailure) {
        self.init(.other, code: "receipt_" + failure.code, description: "\(failure)")
    }

    /// An attestation's failure in the words that all platforms share.
    public init(_ failure: AttestationFailure) {
        let kind: Kind =
            switch failure {
            case .malformed: .malformed
            case .appMismatch: .appMismatch
            case .environmentNotAllowed: .environmentNotAllowed
            case .macSecurityReduced: .deviceRefused
            default: .other
            }
        self.init(kind, code: failure.code, description: failure.description)
    }
}
