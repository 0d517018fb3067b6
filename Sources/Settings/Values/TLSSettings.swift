import Bytes
public import Crypto
public import TLS

/// The files of a certificate chain and its private key, in PEM.
public struct CertificateFiles: Hashable, Sendable {
    public var certificatePath: String
    public var keyPath: String
    /// An OCSP response in DER, stapled to handshakes.
    public var ocspPath: String?

    /// Empty paths stand for keys that have not been read yet.
    public init(
        certificatePath: String = "", keyPath: String = "", ocspPath: String? = nil
    ) {
        self.certificatePath = certificatePath
        self.keyPath = keyPath
        self.ocspPath = ocspPath
    }
}

/// The TLS settings of a listener. The files have been read, so nothing is looked up later.
public struct ListenerTLSSettings: Hashable, Sendable {
    /// The files of `configuration.certificates`, in the same order.
    public var files: [CertificateFiles]
    public var configuration: TLSServerConfiguration
    public var tickets = SessionTicketSettings()
    /// The file of `configuration.clientCertificates`: the authorities of clients.
    public var clientAuthoritiesPath: String?
    /// The file of their revocation lists.
    public var clientRevocationsPath: String?

    public init(files: [CertificateFiles], configuration: TLSServerConfiguration) {
        self.files = files
        self.configuration = configuration
    }
}

/// The settings for resuming clients' sessions. ``TLSServerConfiguration/hasTickets`` is true if
/// there are tickets at all.
public struct SessionTicketSettings: Hashable, Sendable {
    /// Files of 80 bytes. If there are none, the keys are made in memory and rotate.
    public var keyPaths: [String] = []
    /// The contents of those files. The first key seals; the others still open.
    public var keys: [Secret] = []
    /// The time for which a session can be resumed.
    public var lifetime: Duration = .seconds(12 * 3600)

    public init() {}
}

/// The TLS settings of connections to an upstream's servers.
public struct UpstreamTLSSettings: Hashable, Sendable {
    /// The path of the authorities, or nil for those that the system trusts.
    public var authoritiesPath: String?
    /// The file of their revocation lists.
    public var revocationsPath: String?
    /// True if the server must prove its name by a certificate.
    public var verifies = true
    /// The name to ask for and to find in the certificate; nil for the server's own host.
    public var serverName: String?
    public var files: CertificateFiles?
    public var configuration: TLSClientConfiguration

    public init(configuration: TLSClientConfiguration) { self.configuration = configuration }

    /// The name to expect at `server`, and whether it is a numeric address.
    public func peer(at server: Endpoint) -> (name: String, isAddress: Bool) {
        var name = serverName ?? "localhost"
        if serverName == nil, case .tcp(let host, _) = server { name = host }
        return (name, IPAddress.bytes(name) != nil)
    }
}
