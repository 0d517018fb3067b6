/// The ways in which one attestation can be wrong, each the only thing wrong with it.
public enum AttestationFault: String, Sendable, CaseIterable {
    // MARK: certificates
    case expiredLeaf
    case leafNotYetValid
    case expiredIntermediate
    case intermediateNotCA
    /// One more issuer than the intermediate's path length allows.
    case pathTooLong
    /// Everything right, under a root of another's.
    case otherRoot
    /// Signed by a stranger who calls himself like the intermediate.
    case issuerByNameOnly
    case intermediateMissing
    case leafSelfSigned
    case leafSignedWithSHA1
    case leafIsCA
    case leafOnP384
    /// Named by another key's id, for another app, or for another purpose.
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
    /// The right 32 bytes stand in the extension, and not where they belong.
    case nonceAfterAnother

    // MARK: authenticator data, covered by the nonce
    /// The leaf certifies another key than the device's.
    case otherLeafKey
    case otherApp
    case counterOne
    /// 2^31: zero or less to those who read it as signed.
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
