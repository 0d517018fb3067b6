/// The reason why a receipt is not accepted.
public enum ReceiptFailure: Error, Hashable, Sendable {
    /// The signed content is not Apple's set of fields, or a field has a wrong form.
    case malformed(String)
    /// The receipt is not CMS, or its signature is wrong. Receipts made before November 2020 are
    /// not conforming CMS.
    case cmsInvalid(String)
    /// The signing certificate does not lead to a root that was trusted at the receipt's creation.
    case certificateChain(String)
    /// The receipt was issued for another app.
    case appMismatch
    /// The receipt was issued for another key.
    case keyMismatch
    /// The receipt was issued in another environment.
    case environmentMismatch
    /// The receipt says that it was made at a time at which it cannot have been made.
    case timeMismatch

    /// The reason as one word for logs and metrics; a closed set.
    public var code: String {
        switch self {
        case .malformed: "malformed"
        case .cmsInvalid: "cms_invalid"
        case .certificateChain: "certificate_chain"
        case .appMismatch: "app_mismatch"
        case .keyMismatch: "key_mismatch"
        case .environmentMismatch: "environment_mismatch"
        case .timeMismatch: "time_mismatch"
        }
    }

    /// Every value that ``code`` can have, for registering metrics.
    public static let allCodes = [
        "malformed", "cms_invalid", "certificate_chain", "app_mismatch", "key_mismatch",
        "environment_mismatch", "time_mismatch",
    ]
}

extension ReceiptFailure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let reason): reason
        case .cmsInvalid(let reason): "not validly signed: \(reason)"
        case .certificateChain(let reason): "no chain to a trusted root: \(reason)"
        case .appMismatch: "the receipt is for another app"
        case .keyMismatch: "the receipt is for another key"
        case .environmentMismatch: "the receipt is of another environment"
        case .timeMismatch: "the receipt's creation time is not possible"
        }
    }
}
