public import Crypto

/// The settings of the identity tokens by which the gateway tells upstreams its findings.
public struct IdentitySettings: Hashable, Sendable {
    /// A file with one private key on P-256 in PEM.
    public struct KeyFile: Hashable, Sendable {
        public let path: String
        public let key: P256PrivateKey

        public init(path: String, key: P256PrivateKey) {
            self.path = path
            self.key = key
        }

        public static func == (left: KeyFile, right: KeyFile) -> Bool {
            left.path == right.path && left.key.publicKey == right.key.publicKey
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(path)
            hasher.combine(key.publicKey)
        }
    }

    /// The name by which a token identifies the app's key.
    public enum Subject: String, Hashable, Sendable, CaseIterable {
        /// The key's id.
        case key
        /// The key's pseudonym. Upstreams behind different operators' gateways cannot compare it.
        case pseudonym
    }

    public var keys: [KeyFile] = []
    public var issuer = "sallyport"
    public var subject = Subject.key
    public var tokenCountMax = 16_384
}

/// The identity token that requests to one upstream carry.
public struct UpstreamIdentity: Hashable, Sendable {
    /// The requests that one token is made for.
    public enum Scope: String, Hashable, Sendable, CaseIterable {
        /// All requests of a key, as long as the token is valid.
        case key
        /// One request, which the token names. Each request costs a signature.
        case request
    }

    /// The header's name in lower case.
    public var header = "x-attest-identity"
    /// `aud`.
    public var audience: [String]
    public var timeToLive: Duration = .seconds(300)
    public var scope = Scope.key

    public init(audience: [String]) { self.audience = audience }
}
