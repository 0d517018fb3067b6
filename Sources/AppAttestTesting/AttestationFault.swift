/// The faults that one attestation can have. Each is the only fault of its attestation.
public enum AttestationFault: String, Sendable, CaseIterable {
    // MARK: certificates
    case expiredLeaf
    case leafNotYetValid
    case expiredIntermediate
    case intermediateNotCA
    /// One more issuer than the intermediate's path length allows.
    case pathTooLong
    /// Everything is right, but under a root that is not trusted.
    case otherRoot
    /// The leaf is signed by another issuer with the intermediate's name.
    case issuerByNameOnly
    case intermediateMissing
    case leafSelfSigned
    case leafSignedWithSHA1
    case leafIsCA
    case leafOnP384
    /// The leaf is named by another key's id, for another app, or for another purpose.
    case leafNameOther
    case leafAppOther
    case leafPurposeOther
    case leafIsGarbage
    case byteAfterLeaf
    case chainEmpty
    case chainTooLong

    // MARK: nonce
    case otherNonce
    case nonceMissing
    case nonceTooShort
    case nonceTrailingByte
    case nonceUnderOtherTag
    /// The right 32 bytes are in the extension, but not in the right place.
    case nonceAfterAnother

    // MARK: authenticator data, covered by the nonce
    /// The leaf certifies another key than the device's.
    case otherLeafKey
    case otherApp
    case counterOne
    /// The counter is 2^31: zero or less to a verifier that reads it as signed.
    case counterHighBit
    case aaguidUnknown
    case otherEnvironment
    case otherCredentialID
    case credentialIDShort
    case credentialIDPastEnd
    case otherCredentialKey
    case credentialKeyOnOtherCurve
    case credentialKeyWithoutY
    case credentialKeyShortX
    case credentialKeyDuplicateLabel
    case credentialKeyIndefinite
    case extraByte
    case twoMaps
    case extensionsNotAMap
    case extensionsDuplicateKey
    case extensionsIndefinite
    case extensionsTooLong

    // MARK: object
    case otherFormat
    case formatMissing
    case chainMissing
    case authenticatorDataMissing
    case trailingByte
    case indefiniteMap
    case duplicateMember
    case notShortestLength
    case tagged
    case cutShort
    case empty

    /// The code of the ``AttestationFailure`` that a verifier must give.
    public var code: String {
        switch self {
        case .expiredLeaf, .expiredIntermediate: "certificate_expired"
        case .leafNotYetValid: "certificate_not_yet_valid"
        case .intermediateNotCA, .pathTooLong, .otherRoot, .issuerByNameOnly,
            .intermediateMissing, .leafSelfSigned, .leafSignedWithSHA1:
            "certificate_chain"
        case .leafIsCA, .leafOnP384, .leafNameOther, .leafAppOther, .leafPurposeOther:
            "certificate_profile"
        case .otherNonce: "nonce_mismatch"
        case .nonceMissing: "nonce_missing"
        case .nonceTooShort, .nonceTrailingByte, .nonceUnderOtherTag, .nonceAfterAnother:
            "nonce_malformed"
        case .otherLeafKey: "key_id_mismatch"
        case .otherApp: "app_mismatch"
        case .counterOne, .counterHighBit: "counter_not_zero"
        case .aaguidUnknown: "environment_unknown"
        case .otherEnvironment: "environment_not_allowed"
        case .otherCredentialID, .credentialIDShort: "credential_id_mismatch"
        case .otherCredentialKey: "public_key_mismatch"
        default: "malformed"
        }
    }
}
