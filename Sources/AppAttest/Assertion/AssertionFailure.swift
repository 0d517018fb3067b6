/// The reason why an assertion does not prove anything.
///
/// For the gateway's log and metrics: clients are told no more than `assertion_invalid`.
public enum AssertionFailure: Error, Hashable, Sendable {
    /// The bytes are not an assertion's CBOR, or the authenticator data, although validly signed,
    /// is not an assertion's.
    case malformed(Malformation)
    /// The signature was not made by this key over this authenticator data and client data.
    case signatureInvalid
    /// The assertion was made by another app than the one the key was enrolled for.
    case appMismatch

    /// The reason as one word for logs and metrics; a closed set.
    public var code: String {
        switch self {
        case .malformed: "malformed"
        case .signatureInvalid: "signature_invalid"
        case .appMismatch: "app_mismatch"
        }
    }

    /// Every value that ``code`` can have, for registering metrics.
    public static let allCodes = ["malformed", "signature_invalid", "app_mismatch"]
}

extension AssertionFailure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let malformation): malformation.description
        case .signatureInvalid:
            "the signature is not the key's over this authenticator data and client data"
        case .appMismatch: "the relying party id hash is not the app's"
        }
    }
}
