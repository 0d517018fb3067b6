import COpenSSL
import Crypto

// A resumed handshake shows no certificate. So that a client is not admitted for longer than its
// certificate is good, a ticket holds the end of everything by which the certificate was checked.

/// Writes the end of the client's certificate into a new ticket (SSL_CTX_set_session_ticket_cb(3)).
/// A resumed session keeps its end.
func ticketIsMade(_ session: OpaquePointer?, _: UnsafeMutableRawPointer?) -> Int32 {
    guard let owner = unsafe owner(of: session), unsafe SSL_session_reused(session) == 0,
        let end = unsafe owner.certificateEnd(of: SSL_get0_verified_chain(session))
    else { return 1 }
    var bytes = end.littleEndian
    let status = unsafe SSL_SESSION_set1_ticket_appdata(
        SSL_get_session(session), &bytes, MemoryLayout<Int64>.size)
    // Without memory the handshake fails, because the ticket would be good for too long.
    return status
}

/// Refuses to resume a session whose client's certificate is not good any more: the handshake goes
/// on in full, and checks the certificate that the client shows.
func ticketWasOpened(
    _ session: OpaquePointer?, _ resumed: OpaquePointer?, _: UnsafePointer<UInt8>?, _: Int,
    _ status: SSL_TICKET_STATUS, _: UnsafeMutableRawPointer?
) -> SSL_TICKET_RETURN {
    switch status {
    case SSL_TICKET_SUCCESS, SSL_TICKET_SUCCESS_RENEW:
        guard let owner = unsafe owner(of: session),
            unsafe owner.mayResume(until: certificateEnd(in: resumed))
        else { return SSL_TICKET_RETURN_IGNORE_RENEW }
        return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW
    case SSL_TICKET_EMPTY, SSL_TICKET_NO_DECRYPT: return SSL_TICKET_RETURN_IGNORE_RENEW
    case SSL_TICKET_NONE: return SSL_TICKET_RETURN_IGNORE
    default: return SSL_TICKET_RETURN_ABORT
    }
}

/// The end that ``ticketIsMade(_:_:)`` has written; nil if the client showed no certificate.
private func certificateEnd(in resumed: OpaquePointer?) -> Int64? {
    var data: UnsafeMutableRawPointer?
    var byteCount = 0
    guard unsafe SSL_SESSION_get0_ticket_appdata(resumed, &data, &byteCount) == 1,
        byteCount == MemoryLayout<Int64>.size, let data = unsafe data
    else { return nil }
    return unsafe Int64(littleEndian: data.loadUnaligned(as: Int64.self))
}

extension TLSServerContext {
    /// The time until which every certificate of a chain, and every revocation list that is good
    /// now, is good, in seconds since 1970; nil for a client without a certificate.
    fileprivate func certificateEnd(of chain: OpaquePointer?) -> Int64? {
        guard let clients = configuration.clientCertificates else { return nil }
        let count = unsafe sallyport_certificates_count(chain)
        guard count > 0 else { return nil }
        var end = Int64.max
        for index in 0..<count {
            let certificate = unsafe sallyport_certificates_at(chain, index)
            let notAfter = unsafe X509Fields.seconds(X509_get0_notAfter(certificate))
            end = min(end, notAfter ?? 0)
        }
        // A list that has ended belongs to another authority, because the chain was good.
        return min(end, clients.authorities.revocations?.firstEnd(after: clock()) ?? .max)
    }

    fileprivate func mayResume(until end: Int64?) -> Bool { end.map { clock() <= $0 } ?? true }
}
