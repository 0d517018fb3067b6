import COpenSSL
import Crypto

/// One listener's side of TLS, made at start and at reload and never changed, so that any number of
/// threads may make sessions of it.
@safe
public final class TLSServerContext: @unchecked Sendable {
    public let configuration: TLSServerConfiguration
    let ticketKeys: TLSTicketKeys
    let names: TLSNameTable
    let protocols: [UInt8]
    /// Returns the seconds since 1970.
    let clock: @Sendable () -> Int64
    /// One context for each choice of certificates in ``names``.
    private(set) var contexts: [OpaquePointer]

    /// Throws if OpenSSL rejects a part of `configuration`; the text names it.
    public convenience init(
        _ configuration: TLSServerConfiguration, ticketKeys: TLSTicketKeys
    ) throws(TLSError) {
        try self.init(configuration, ticketKeys: ticketKeys, clock: { Int64(time(nil)) })
    }

    /// - Parameter clock: returns the seconds since 1970, by which sessions may be resumed.
    package init(
        _ configuration: TLSServerConfiguration, ticketKeys: TLSTicketKeys,
        clock: @escaping @Sendable () -> Int64
    ) throws(TLSError) {
        self.configuration = configuration
        self.clock = clock
        unsafe contexts = []
        self.ticketKeys = ticketKeys
        protocols = TLSParameters.wireForm(configuration.protocols)
        names = TLSNameTable(
            configuration.certificates.map { ($0.identity.names, $0.identity.keyKind) })
        for choice in names.choices {
            let context = try unsafe TLSParameters.make(
                TLS_server_method(), minimumVersion: configuration.minimumVersion,
                hasTickets: configuration.hasTickets)
            unsafe contexts.append(context)
            try unsafe configure(context, choice)
        }
    }

    deinit {
        while let context = unsafe contexts.popLast() { unsafe SSL_CTX_free(context) }
    }

    /// The indices of certificates that no name leads to.
    public var unusedCertificates: [Int] {
        configuration.certificates.indices.filter { index in
            !names.choices.contains { $0.contains(index) }
        }
    }

    /// The context of clients whose server name is not known yet.
    var initial: OpaquePointer { unsafe contexts[0] }

    private func configure(_ context: OpaquePointer, _ choice: [Int]) throws(TLSError) {
        try unsafe TLSParameters.setCiphers(configuration.ciphers, in: context)
        try unsafe TLSParameters.setCipherSuites(configuration.cipherSuites, in: context)
        try unsafe TLSParameters.setGroups(configuration.groups, in: context)
        for index in choice {
            try unsafe configuration.certificates[index].identity.use(in: context)
        }
        try unsafe setClientCertificates(in: context)
        unsafe SSL_CTX_set_timeout(context, Int(ticketKeys.lifetime.components.seconds))
        let owner = unsafe Unmanaged.passUnretained(self).toOpaque()
        guard unsafe SSL_CTX_set_ex_data(context, 0, owner) == 1 else {
            throw TLSError(ErrorQueue.drain("TLS context"))
        }
        unsafe sallyport_tls_set_name_callback(context, serverNameArrived)
        unsafe sallyport_tls_set_status_callback(context, stapleIsWanted)
        unsafe SSL_CTX_set_tlsext_ticket_key_evp_cb(context, ticketIsHandled)
        guard
            unsafe SSL_CTX_set_session_ticket_cb(context, ticketIsMade, ticketWasOpened, nil) == 1
        else { throw TLSError(ErrorQueue.drain("session tickets")) }
        if !protocols.isEmpty {
            unsafe SSL_CTX_set_alpn_select_cb(context, protocolIsChosen, owner)
        }
    }

    private func setClientCertificates(in context: OpaquePointer) throws(TLSError) {
        // A session is resumed only if its client was asked for a certificate in the same way.
        var identifier: [UInt8] = Array("sallyport".utf8)
        if let clients = configuration.clientCertificates {
            let mode =
                SSL_VERIFY_PEER | (clients.isRequired ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0)
            unsafe SSL_CTX_set_verify(context, mode, nil)
            unsafe SSL_CTX_set_verify_depth(context, Int32(clients.depthMax))
            unsafe SSL_CTX_set1_cert_store(context, clients.authorities.store)
            try unsafe clients.authorities.announce(in: context)
            identifier += [clients.isRequired ? 1 : 0, UInt8(clamping: clients.depthMax)]
            identifier += clients.authorities.digest
        }
        var digest = [UInt8](repeating: 0, count: 32)
        unsafe SHA256(identifier, identifier.count, &digest)
        guard unsafe SSL_CTX_set_session_id_context(context, digest, 32) == 1 else {
            throw TLSError(ErrorQueue.drain("session id context"))
        }
    }

    /// The response to staple beside `certificate`; nil if there is none that is still valid.
    func staple(for certificate: OpaquePointer?) -> [UInt8]? {
        guard let certificate = unsafe certificate else { return nil }
        let match = configuration.certificates.first {
            unsafe $0.identity.certificate == certificate
        }
        guard let staple = match?.staple, !staple.isExpired else { return nil }
        return staple.der
    }
}
