/// The reason why a platform does not accept what it was shown.
///
/// For the gateway's log and metrics: clients are told one code for all that is cryptographic.
public struct PlatformFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds that the gateway treats differently.
    public enum Kind: Hashable, Sendable {
        /// The structure of the evidence is wrong.
        case malformed
        /// The evidence is of another app than those configured, or than the key's.
        case appMismatch
        /// The app does not accept keys of this environment.
        case environmentNotAllowed
        /// Another key of the same device would be refused as well.
        case deviceRefused
        /// The platform cannot judge at the moment. The client is asked to come later.
        case unavailable
        case other
    }

    public let kind: Kind
    /// The reason as one word for logs and metrics, out of a set that each platform closes.
    public let code: String
    public let description: String

    public init(_ kind: Kind, code: String, description: String) {
        self.kind = kind
        self.code = code
        self.description = description
    }
}
