import Bytes
public import TLS

/// The files of a certificate chain and its private key, in PEM.
public struct CertificateFiles: Hashable, Sendable {
    public var certificatePath: String
    public var keyPath: String
    /// An OCSP response in DER, stapled to handshakes.
    public var ocspPath: String?

    public init(certificatePath: String, keyPath: String, ocspPath: String? = nil) {
        self.certificatePath = certificatePath
        self.keyPath = keyPath
        self.ocspPath = ocspPath
    }
}

/// How a listener speaks TLS. The files have been read: nothing is looked up later.
public struct ListenerTLSSettings: Hashable, Sendable {
    /// As `configuration.certificates`.
    public var files: [CertificateFiles]
    public var configuration: TLSServerConfiguration
    public var tickets = SessionTicketSettings()
    /// Who vouches for clients: the file of `configuration.clientCertificates`.
    public var clientAuthoritiesPath: String?
    /// Their revocation lists.
    public var clientRevocationsPath: String?

    public init(files: [CertificateFiles], configuration: TLSServerConfiguration) {
        self.files = files
        self.configuration = configuration
    }
}

/// How sessions of clients are resumed. Whether there are tickets at all is
/// ``TLSServerConfiguration/hasTickets``.
public struct SessionTicketSettings: Hashable, Sendable {
    /// Files of 80 bytes; none: the keys are made in memory and rotate.
    public var keyPaths: [String] = []
    /// What those files hold; the first seals, the others still open.
    public var keys: [[UInt8]] = []
    /// How long a session can be resumed.
    public var lifetime: Duration = .seconds(12 * 3600)

    public init() {}
}

/// How an upstream's servers are spoken to.
public struct UpstreamTLSSettings: Hashable, Sendable {
    /// Nil: the authorities that the system trusts.
    public var authoritiesPath: String?
    /// Their revocation lists.
    public var revocationsPath: String?
    /// Whether the server must prove who it is.
    public var verifies = true
    /// The name to ask for and to find in the certificate; nil: the server's own host.
    public var serverName: String?
    public var files: CertificateFiles?
    public var configuration: TLSClientConfiguration

    public init(configuration: TLSClientConfiguration) { self.configuration = configuration }

    /// Whom to expect at `server`, and whether that is a numeric address.
    public func peer(at server: Endpoint) -> (name: String, isAddress: Bool) {
        var name = serverName ?? "localhost"
        if serverName == nil, case .tcp(let host, _) = server { name = host }
        return (name, IPAddress.bytes(name) != nil)
    }
}
