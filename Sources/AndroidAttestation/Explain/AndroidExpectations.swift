public import Attestation
public import Bytes

/// The caller's knowledge about an Android attestation that is to be explained.
///
/// Nothing has to be given: what is not given is visibly skipped, and the object may be valid
/// without it.
public struct AndroidExpectations: Sendable {
    /// The moment at which the chain is judged, in seconds since 1970.
    public var seconds: Int64
    /// The challenge as the app got it.
    public var challenge: [UInt8]?
    /// The key id that the client names.
    public var keyID: KeyID?
    /// The packages that may own the key.
    public var packages: [String] = []
    /// SHA-256 of each certificate that may have signed them.
    public var signingDigests: [Bytes32] = []
    /// The roots to trust instead of Google's; empty trusts ``AndroidRoots/published``.
    public var roots: [AndroidRoot] = []
    /// The revocation list in which the serial numbers are looked up.
    public var revocations: RevocationList?
    /// The least security level; software, too, may be explained.
    public var securityLevelMin = AndroidSecurityLevel.trustedEnvironment
    /// True if an unlocked phone and any system are accepted.
    public var acceptsAnyBootState = false
    /// The seconds by which the clock may be off when the dates of certificates are judged.
    public var clockSkewSeconds: Int64 = 0

    /// Makes expectations without any knowledge but the moment.
    public init(at seconds: Int64) { self.seconds = seconds }

    var policy: KeyPolicy {
        var policy = KeyPolicy(securityLevelMin: securityLevelMin)
        policy.acceptsAnyBootState = acceptsAnyBootState
        return policy
    }
}
