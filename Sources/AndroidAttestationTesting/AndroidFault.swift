/// The faults that one attestation can have. Each is the only fault of its attestation.
public enum AndroidFault: String, Sendable, CaseIterable {
    // MARK: the chain
    case chainEmpty
    case chainTooShort
    case chainTooLong
    case leafIsGarbage
    case byteAfterLeaf
    case leafTooLong
    case attestationCertificateTooLong
    case issuerOfVersion1
    case issuerTimeMalformed
    case negativeSerial
    case serialTooLong
    case algorithmsDiffer
    case duplicateExtension
    case unknownCriticalExtension
    case provisioningMalformed
    case leafOnP384
    /// Everything is right, but under a root that is not trusted.
    case otherRoot
    case rootMissing
    case issuersSwapped
    case leafNamesOtherIssuer
    case issuerNamesOtherIssuer
    case issuerKeyOfRSA1024
    case issuerKeyOnP256Compressed
    case leafSignedWithSHA1
    /// The leaf is signed by another key than the attestation certificate's.
    case leafSignedByOther
    case leafSelfSigned
    case issuerSignedByOther
    case leafSignatureDamaged
    /// The owner of a genuine key signs a description of his own with it.
    case leafBelowGenuineLeaf
    /// The key that vouches for the leaf was certified by a thief of the phone's attestation key.
    case leafBelowOwnAuthority
    /// The key that vouches for the leaf is a virtual machine's, which its owner can read.
    case leafBelowVirtualMachine
    /// The key that vouches for the leaf is such a one, certified by Google's server itself.
    case leafBelowVirtualMachineOfServer
    case extensionInRoot
    case extensionMissing
    case issuerNotYetValid
    case remoteIssuerNotYetValid
    case remoteIssuerExpired
    case remoteServerExpired

    // MARK: the description
    /// The leaf certifies another key than the phone's.
    case otherLeafKey
    case descriptionIsGarbage
    case descriptionTrailingByte
    case descriptionExtraElement
    case descriptionIndefinite
    case descriptionLongLength
    case versionZero
    case securityLevelUnknown
    case duplicateTag
    case tagPrimitive
    case authorizationTrailingByte
    case lockedAsTwo
    case bootStateUnknown
    case bootHashMissing
    case packagesEmpty
    case signingDigestShort
    case packageNotUTF8
    case otherChallenge
    case challengeEmpty
    case challengeCutShort
    case tagsDescend
    case serialNumberAttested
    case imeiAttested
    case meidAttested
    case secondIMEIAttested
    /// The identifier stands among what the system enforces.
    case imeiInSoftware

    // MARK: the key
    case softwareKey
    case levelsDiffer
    /// The key claims StrongBox under the certificates of a TEE.
    case strongBoxByClaim
    case imported
    case originMissing
    /// The origin stands only among what the system enforces.
    case originInSoftware
    case algorithmRSA
    case keySize384
    case curveP384
    case purposeMissing
    case purposeDecrypt
    case purposeAttestKey
    case digestNone
    case digestMissing
    case allApplications
    case allApplicationsInSoftware

    // MARK: the phone and the app
    case rootOfTrustMissing
    case rootOfTrustInSoftware
    case unlocked
    case bootSelfSigned
    case bootUnverified
    case bootFailed
    case applicationIDMissing
    case applicationIDInHardware
    case otherPackage
    case secondPackage
    case otherSigner
    case secondSigner

    /// The code of the `AndroidAttestationFailure` that a verifier must give.
    public var code: String {
        switch self {
        case .chainEmpty, .chainTooShort, .chainTooLong: "chain_length"
        case .leafIsGarbage, .byteAfterLeaf, .leafTooLong, .attestationCertificateTooLong,
            .issuerOfVersion1, .issuerTimeMalformed, .negativeSerial, .serialTooLong,
            .algorithmsDiffer, .duplicateExtension, .unknownCriticalExtension,
            .provisioningMalformed:
            "certificate_malformed"
        case .leafOnP384: "leaf_key"
        case .otherRoot, .rootMissing: "root_unknown"
        case .issuersSwapped, .leafNamesOtherIssuer, .issuerNamesOtherIssuer: "chain_order"
        case .issuerKeyOfRSA1024, .issuerKeyOnP256Compressed, .leafSignedWithSHA1: "issuer_key"
        case .leafSignedByOther, .leafSelfSigned, .issuerSignedByOther, .leafSignatureDamaged:
            "signature_invalid"
        case .leafBelowGenuineLeaf, .extensionInRoot: "extension_in_intermediate"
        case .extensionMissing: "extension_missing"
        case .leafBelowOwnAuthority, .leafBelowVirtualMachine, .leafBelowVirtualMachineOfServer:
            "attestation_certificate"
        case .issuerNotYetValid, .remoteIssuerNotYetValid: "not_yet_valid"
        case .remoteIssuerExpired, .remoteServerExpired: "expired"
        case .otherLeafKey: "key_id_mismatch"
        default: keyCode
        }
    }

    private var keyCode: String {
        switch self {
        case .otherChallenge, .challengeEmpty, .challengeCutShort: "challenge_mismatch"
        case .tagsDescend: "tag_order"
        case .serialNumberAttested, .imeiAttested, .meidAttested, .secondIMEIAttested,
            .imeiInSoftware:
            "device_identifiers"
        case .softwareKey, .levelsDiffer, .strongBoxByClaim: "security_level"
        case .imported, .originMissing, .originInSoftware: "origin"
        case .algorithmRSA, .keySize384, .curveP384: "key_parameters"
        case .purposeMissing, .purposeDecrypt, .purposeAttestKey: "purpose"
        case .digestNone, .digestMissing: "digest"
        case .allApplications, .allApplicationsInSoftware: "all_applications"
        case .rootOfTrustMissing, .rootOfTrustInSoftware: "root_of_trust_missing"
        case .unlocked: "device_unlocked"
        case .bootSelfSigned, .bootUnverified, .bootFailed: "verified_boot"
        case .applicationIDMissing, .applicationIDInHardware, .otherPackage, .secondPackage:
            "package"
        case .otherSigner, .secondSigner: "signing_digest"
        default: "key_description_malformed"
        }
    }
}
