public import Attestation
public import Bytes
public import KeyStore

/// The contents of a session token (RFC 7519): an assertion of this key was accepted, and for a
/// while that suffices for the named routes.
public struct SessionToken: Hashable, Sendable {
    /// `cnf.kid` (RFC 7800 section 3.4): the key.
    public var keyID: KeyID
    /// `app`: the App ID.
    public var appID: String
    /// `env`: the environment.
    public var environment: AttestEnvironment
    /// `iat`: seconds since 1970.
    public var issuedAt: Int64
    /// `exp`: seconds since 1970; from then on it is not accepted.
    public var expiresAt: Int64
    /// `aud`: names of routes.
    public var audience: [String]
    /// `plt`: the platform; left out for Apple's.
    public var platform = PlatformName.apple
    /// `lvl`: the place of the key, if the platform tells.
    public var securityLevel: SecurityLevel?
    /// `ins`: the installation, if the key has taken the place of another.
    public var installation: InstallationID?
    /// `ver`: the bundle version, if the key reported it (``AttestationExtensions``).
    public var bundleVersion: String?
    /// `cat`: the validation category, likewise.
    public var validationCategory: UInt32?
    /// `bnd`: SHA-256 of the value of the header that the token is bound to.
    public var binding: Bytes32?

    public init(
        keyID: KeyID, appID: String, environment: AttestEnvironment, issuedAt: Int64,
        expiresAt: Int64, audience: [String]
    ) {
        self.keyID = keyID
        self.appID = appID
        self.environment = environment
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.audience = audience
    }
}

/// The reason why a session or developer token is not accepted: for log and metrics, never for a
/// client.
public enum SessionTokenFailure: String, Error, Hashable, Sendable, CaseIterable {
    case malformed = "token_malformed"
    /// The token is of another issuer, algorithm or key.
    case notOurs = "token_not_ours"
    case signature = "token_signature"
    case expired = "token_expired"
    /// The token was issued later than this machine's clock and the allowed clock skew permit.
    case notYetValid = "token_not_yet_valid"
    /// The token is not for this route.
    case audience = "token_audience"
    /// The token is a developer token and lives longer than such tokens may.
    case lifetime = "token_lifetime"
    /// The token is a developer token, and the operator has revoked it.
    case revoked = "token_revoked"
}
