import COpenSSL
import Crypto

/// The gateway's expectations of servers that it connects to.
public struct TLSClientConfiguration: Hashable, Sendable {
    /// The authorities that may vouch for servers; nil to believe any server, which protects only
    /// from passive eavesdroppers.
    public var authorities: TLSAuthorities?
    /// The certificate for servers that ask for one.
    public var identity: TLSIdentity?
    public var minimumVersion = TLSVersion.tls12
    public var ciphers = TLSServerConfiguration.defaultCiphers
    public var cipherSuites = TLSServerConfiguration.defaultCipherSuites
    public var groups = TLSServerConfiguration.defaultGroups
    /// Application protocols in the order of preference (RFC 7301).
    public var protocols: [String] = []
    /// True if sessions may be resumed: ``TLSClientSessions``.
    public var resumesSessions = true

    public init(authorities: TLSAuthorities?) { self.authorities = authorities }
}

/// Made at start and at reload and never changed, so that any number of threads may make sessions
/// of it.
@safe
public final class TLSClientContext: @unchecked Sendable {
    public let configuration: TLSClientConfiguration
    let context: OpaquePointer

    /// Throws if OpenSSL rejects a part of `configuration`; the text names it.
    public init(_ configuration: TLSClientConfiguration) throws(TLSError) {
        self.configuration = configuration
        unsafe context = try unsafe TLSParameters.make(
            TLS_client_method(), minimumVersion: configuration.minimumVersion,
            hasTickets: configuration.resumesSessions)
        try unsafe TLSParameters.setCiphers(configuration.ciphers, in: context)
        try unsafe TLSParameters.setCipherSuites(configuration.cipherSuites, in: context)
        try unsafe TLSParameters.setGroups(configuration.groups, in: context)
        if let authorities = configuration.authorities {
            unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
            unsafe SSL_CTX_set1_cert_store(context, authorities.store)
        } else {
            unsafe SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
        }
        if let identity = configuration.identity { try unsafe identity.use(in: context) }
        let protocols = TLSParameters.wireForm(configuration.protocols)
        guard
            unsafe protocols.isEmpty
                || SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count)) == 0
        else { throw TLSError(ErrorQueue.drain("application protocols")) }
    }

    deinit { unsafe SSL_CTX_free(context) }
}
