public import Attestation

/// The reason why an Android attestation is not accepted: the first check that failed.
///
/// For the gateway's log and metrics: clients are told no more than `attestation_invalid`. No text
/// holds an identifier or a property of the device.
public enum AndroidAttestationFailure: Error, Hashable, Sendable {
    /// The reason why a claimed security level does not count.
    public enum LevelFault: Hashable, Sendable {
        /// The key and what vouches for it are in different places.
        case unequal
        case tooLow(AndroidSecurityLevel)
        /// The key claims StrongBox, and the certificates above it do not.
        case notConfirmed
    }

    // MARK: the chain

    case chainLength(Int)
    /// The certificate at this index, 0 for the leaf, cannot be read.
    case certificateMalformed(index: Int, CertificateMalformation)
    /// The leaf's key is not a point on P-256.
    case leafKey
    /// The last certificate has not the key of a trusted root.
    case rootUnknown
    /// The certificate at this index names another issuer than the next one.
    case chainOrder(index: Int)
    /// The issuer at this index has a key that may not issue, or has signed by an algorithm that is
    /// not allowed.
    case issuerKey(index: Int)
    /// The certificate at this index is not signed by the next one.
    case signatureInvalid(index: Int)
    /// A certificate above the leaf describes a key.
    case extensionInIntermediate(index: Int)
    case extensionMissing
    /// The certificate above the leaf is not that of a phone's attestation key.
    case attestationCertificate
    case notYetValid(index: Int)
    case expired(index: Int)
    case revoked(index: Int, RevocationList.Status)

    // MARK: the key

    case keyIDMismatch
    case keyDescriptionMalformed(KeyDescriptionMalformation)
    case challengeMismatch
    case tagOrder
    /// The attestation names a serial number, an IMEI or a MEID.
    case deviceIdentifiers
    case securityLevel(LevelFault)
    case origin
    case keyParameters
    case purpose
    case digest
    case allApplications

    // MARK: the phone and the app

    case rootOfTrustMissing
    case deviceUnlocked
    case verifiedBoot(RootOfTrust.BootState)
    case patchLevel
    case packageMissing
    case package
    case signingDigest

    /// The reason as one word for logs and metrics; a closed set.
    public var code: String {
        switch self {
        case .chainLength: "chain_length"
        case .certificateMalformed: "certificate_malformed"
        case .leafKey: "leaf_key"
        case .rootUnknown: "root_unknown"
        case .chainOrder: "chain_order"
        case .issuerKey: "issuer_key"
        case .signatureInvalid: "signature_invalid"
        case .extensionInIntermediate: "extension_in_intermediate"
        case .extensionMissing: "extension_missing"
        case .attestationCertificate: "attestation_certificate"
        case .notYetValid: "not_yet_valid"
        case .expired: "expired"
        case .revoked: "revoked"
        case .keyIDMismatch: "key_id_mismatch"
        case .keyDescriptionMalformed: "key_description_malformed"
        case .challengeMismatch: "challenge_mismatch"
        case .tagOrder: "tag_order"
        case .deviceIdentifiers: "device_identifiers"
        case .securityLevel: "security_level"
        case .origin: "origin"
        case .keyParameters: "key_parameters"
        case .purpose: "purpose"
        case .digest: "digest"
        case .allApplications: "all_applications"
        case .rootOfTrustMissing: "root_of_trust_missing"
        case .deviceUnlocked: "device_unlocked"
        case .verifiedBoot: "verified_boot"
        case .patchLevel: "patch_level"
        case .packageMissing, .package: "package"
        case .signingDigest: "signing_digest"
        }
    }

    /// Every value that ``code`` can have, for registering metrics.
    public static let allCodes = [
        "chain_length", "certificate_malformed", "leaf_key", "root_unknown", "chain_order",
        "issuer_key", "signature_invalid", "extension_in_intermediate", "extension_missing",
        "attestation_certificate", "not_yet_valid", "expired", "revoked", "key_id_mismatch",
        "key_description_malformed",
        "challenge_mismatch", "tag_order", "device_identifiers", "security_level", "origin",
        "key_parameters", "purpose", "digest", "all_applications", "root_of_trust_missing",
        "device_unlocked", "verified_boot", "patch_level", "package", "signing_digest",
    ]
}

extension AndroidAttestationFailure: CodedFailure {
    public var description: String {
        switch self {
        case .chainLength(let count): "a chain of \(count) certificates"
        case .certificateMalformed(let index, let reason): "certificate \(index): \(reason)"
        case .leafKey: "the leaf's key is not a point on P-256"
        case .rootUnknown: "the last certificate has not the key of a trusted root"
        case .chainOrder(let index): "certificate \(index) names another issuer than the next one"
        case .issuerKey(let index):
            "the issuer at \(index) has a key, or a signature algorithm, that is not allowed"
        case .signatureInvalid(let index): "certificate \(index) is not signed by the next one"
        case .extensionInIntermediate(let index):
            "certificate \(index) describes a key, so it may have no other below it"
        case .extensionMissing: "the leaf does not describe its key"
        case .attestationCertificate:
            "the certificate above the leaf is not that of a phone's attestation key"
        case .notYetValid(let index): "certificate \(index) is not valid yet"
        case .expired(let index): "certificate \(index), remotely provisioned, has expired"
        case .revoked(let index, let status):
            "certificate \(index) is on the revocation list (\(status.rawValue))"
        case .keyIDMismatch: "the key id is not the SHA-256 of the leaf's public key"
        case .keyDescriptionMalformed(let reason): "the key description: \(reason)"
        case .challengeMismatch: "the key was made for another challenge"
        case .tagOrder: "the tags of an authorization list do not ascend"
        case .deviceIdentifiers: "the attestation names a serial number, an IMEI or a MEID"
        case .securityLevel(let fault): fault.description
        case .origin: "the key was not generated in the hardware that keeps it"
        case .keyParameters: "the key is not described as an EC key on P-256"
        case .purpose: "the key is for other purposes than to sign and to verify"
        case .digest: "the key does not sign SHA-256"
        case .allApplications: "all apps of the phone may use the key"
        case .rootOfTrustMissing: "the hardware does not state how the phone booted"
        case .deviceUnlocked: "the phone is unlocked"
        case .verifiedBoot(let state): "the phone's boot is \(state.name)"
        case .patchLevel: "the system's security patch is too old, or its level is not stated"
        case .packageMissing: "the system does not state which app made the key"
        case .package: "a package that owns the key is not a configured app"
        case .signingDigest: "the app is signed by a certificate that is not configured for it"
        }
    }
}

extension AndroidAttestationFailure.LevelFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unequal: "the key and what vouches for it are at different security levels"
        case .tooLow(let level): "the security level \(level.name) is too low"
        case .notConfirmed: "the key claims StrongBox, and its certificates do not"
        }
    }
}
