/// The faults that one assertion can have. Each is the only fault of its assertion.
public enum AssertionFault: String, Sendable, CaseIterable {
    // MARK: signature
    case otherKey
    case otherClientData
    /// The counter was raised after signing.
    case counterChangedAfterSigning
    /// The nonce was used as the digest instead of being hashed once more.
    case nonceAsDigest
    /// The signature is `r || s` instead of DER.
    case rawSignature
    case emptySignature
    case signatureTrailingByte
    /// One length inside the DER takes two bytes although one is enough.
    case signatureNotDER

    // MARK: app
    case otherApp

    // MARK: authenticator data, validly signed
    case extraByte
    case extraText
    case twoMaps
    case mapThenByte
    case extensionsNotAMap
    case extensionsIndefinite
    case extensionsDuplicateKey
    case extensionsTooDeep
    case extensionsTooLong
    case categoryTooShort
    case versionNotText

    // MARK: object
    case empty
    case notAMap
    case trailingByte
    case indefiniteMap
    case duplicateMember
    case notShortestLength
    case signatureMissing
    case authenticatorDataMissing
    case signatureIsText
    case tagged
    case cutShort

    /// The code of the ``AssertionFailure`` that a verifier must give.
    public var code: String {
        switch self {
        case .otherKey, .otherClientData, .counterChangedAfterSigning, .nonceAsDigest,
            .rawSignature, .emptySignature, .signatureTrailingByte, .signatureNotDER:
            "signature_invalid"
        case .otherApp: "app_mismatch"
        default: "malformed"
        }
    }
}
