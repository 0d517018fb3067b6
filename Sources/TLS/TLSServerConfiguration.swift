/// The TLS settings that a listener offers to its clients.
public struct TLSServerConfiguration: Hashable, Sendable {
    public struct Certificate: Hashable, Sendable {
        public var identity: TLSIdentity
        public var staple: OCSPStaple?

        public init(identity: TLSIdentity, staple: OCSPStaple? = nil) {
            self.identity = identity
            self.staple = staple
        }
    }

    /// The certificates that clients are asked for.
    public struct ClientCertificates: Hashable, Sendable {
        /// False to admit clients without a certificate. One that is not accepted ends the
        /// handshake either way.
        public var isRequired: Bool
        public var authorities: TLSAuthorities
        /// The number of intermediates that may stand between a certificate and its authority.
        public var depthMax: Int

        public init(isRequired: Bool, authorities: TLSAuthorities, depthMax: Int = 2) {
            self.isRequired = isRequired
            self.authorities = authorities
            self.depthMax = depthMax
        }
    }

    /// The certificates, at least one. The first also serves clients that name no server, or an
    /// unknown one.
    public var certificates: [Certificate]
    public var minimumVersion = TLSVersion.tls12
    /// The ciphers of TLS 1.2 in OpenSSL's form: those that Mozilla calls intermediate, without
    /// finite-field groups.
    public var ciphers = Self.defaultCiphers
    /// The cipher suites of TLS 1.3 in OpenSSL's form.
    public var cipherSuites = Self.defaultCipherSuites
    /// The groups in OpenSSL's form. One with a `?` before it is left out if OpenSSL does not have
    /// it.
    public var groups = Self.defaultGroups
    /// Application protocols in the order of preference (RFC 7301).
    public var protocols: [String] = []
    /// True if clients get tickets for resuming their sessions.
    public var hasTickets = true
    public var clientCertificates: ClientCertificates?

    public init(certificates: [Certificate]) { self.certificates = certificates }

    public static let defaultCiphers =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
        + "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
        + "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305"
    public static let defaultCipherSuites =
        "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
    public static let defaultGroups = "?X25519MLKEM768:X25519:P-256:P-384"
}
