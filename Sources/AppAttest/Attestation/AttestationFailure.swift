public import Attestation

/// The reason why an attestation is not accepted: its structure, or the first of the nine checks
/// that failed.
///
/// For the gateway's log and metrics: clients are told no more than `attestation_invalid`.
public enum AttestationFailure: Error, Hashable, Sendable {
    case malformed(Malformation)
    /// Check 1: the leaf or an intermediate is past its last moment. Leaves live about three days.
    case certificateExpired
    /// Check 1: the leaf or an intermediate is not valid yet.
    case certificateNotYetValid
    /// Check 1: no chain of valid signatures to a root, or a certificate in it that may not issue.
    case certificateChain(String)
    /// Check 1: the chain is right, but the leaf is not what Apple issues for a key.
    case certificateProfile(String)
    /// Check 3: the leaf has no nonce extension.
    case nonceMissing
    /// Check 3: the nonce extension is not exactly the DER it must be.
    case nonceMalformed
    /// Check 3: the nonce was made for another challenge, or with other authenticator data.
    case nonceMismatch
    /// Check 4: the attested key is not the one that the client names.
    case keyIDMismatch
    /// Check 5: none of the configured apps made the key.
    case appMismatch
    /// Check 6: the counter of a new key is not 0.
    case counterNotZero
    /// Check 7: the AAGUID is not one of Apple's.
    case environmentUnknown
    /// Check 7: the app does not accept keys of this environment.
    case environmentNotAllowed(AttestEnvironment)
    /// Check 8: the credential id is not the key id.
    case credentialIDMismatch
    /// Check 9: the authenticator data names another key than the leaf certifies.
    case publicKeyMismatch
    /// After Apple's checks: the app does not accept keys of a Mac with reduced security.
    case macSecurityReduced

    /// The reason as one word for logs and metrics; a closed set.
    public var code: String {
        switch self {
        case .malformed: "malformed"
        case .certificateExpired: "certificate_expired"
        case .certificateNotYetValid: "certificate_not_yet_valid"
        case .certificateChain: "certificate_chain"
        case .certificateProfile: "certificate_profile"
        case .nonceMissing: "nonce_missing"
        case .nonceMalformed: "nonce_malformed"
        case .nonceMismatch: "nonce_mismatch"
        case .keyIDMismatch: "key_id_mismatch"
        case .appMismatch: "app_mismatch"
        case .counterNotZero: "counter_not_zero"
        case .environmentUnknown: "environment_unknown"
        case .environmentNotAllowed: "environment_not_allowed"
        case .credentialIDMismatch: "credential_id_mismatch"
        case .publicKeyMismatch: "public_key_mismatch"
        case .macSecurityReduced: "mac_security_reduced"
        }
    }

    /// Every value that ``code`` can have, for registering metrics.
    public static let allCodes = [
        "malformed", "certificate_expired", "certificate_not_yet_valid", "certificate_chain",
        "certificate_profile", "nonce_missing", "nonce_malformed", "nonce_mismatch",
        "key_id_mismatch", "app_mismatch", "counter_not_zero", "environment_unknown",
        "environment_not_allowed", "credential_id_mismatch", "public_key_mismatch",
        "mac_security_reduced",
    ]
}

extension AttestationFailure: CodedFailure {
    public var description: String {
        switch self {
        case .malformed(let malformation): malformation.description
        case .certificateExpired: "a certificate has expired"
        case .certificateNotYetValid: "a certificate is not valid yet"
        case .certificateChain(let reason): "no chain to a trusted root: \(reason)"
        case .certificateProfile(let reason): "not an App Attest leaf: \(reason)"
        case .nonceMissing: "the leaf has no extension \(LeafCertificate.nonceOID)"
        case .nonceMalformed: "the leaf's extension \(LeafCertificate.nonceOID) is malformed"
        case .nonceMismatch:
            "the nonce in the leaf is not SHA-256(authenticator data || client data hash)"
        case .keyIDMismatch: "the key id is not the SHA-256 of the leaf's public key"
        case .appMismatch: "the relying party id hash belongs to no configured app"
        case .counterNotZero: "the counter is not 0"
        case .environmentUnknown: "the AAGUID is not one of Apple's"
        case .environmentNotAllowed(let environment):
            "the app accepts no keys of the \(environment.rawValue) environment"
        case .credentialIDMismatch: "the credential id is not the key id"
        case .publicKeyMismatch: "the credential public key is not the leaf's"
        case .macSecurityReduced:
            "the key is not one of a Mac with System Integrity Protection and Full Security"
        }
    }
}
