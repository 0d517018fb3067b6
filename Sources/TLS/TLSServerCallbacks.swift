import COpenSSL

// Questions of OpenSSL in the middle of a handshake. The context outlives the calls, because the
// session that is being made retains it.

func owner(of session: OpaquePointer?) -> TLSServerContext? {
    guard let data = unsafe SSL_CTX_get_ex_data(SSL_get_SSL_CTX(session), 0) else { return nil }
    return unsafe Unmanaged<TLSServerContext>.fromOpaque(data).takeUnretainedValue()
}

/// Chooses the certificates for the name that the client asks for.
func serverNameArrived(
    _ session: OpaquePointer?, _: UnsafeMutablePointer<Int32>?, _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let owner = unsafe owner(of: session),
        let name = unsafe SSL_get_servername(session, TLSEXT_NAMETYPE_host_name),
        let index = owner.names.choice(for: unsafe String(cString: name))
    else { return SSL_TLSEXT_ERR_NOACK }
    // Without memory the session would go on with the certificate of another name.
    guard unsafe index == 0 || SSL_set_SSL_CTX(session, owner.contexts[index]) != nil else {
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
    return SSL_TLSEXT_ERR_OK
}

func stapleIsWanted(_ session: OpaquePointer?, _: UnsafeMutableRawPointer?) -> Int32 {
    guard let owner = unsafe owner(of: session),
        let staple = unsafe owner.staple(for: SSL_get_certificate(session)),
        unsafe sallyport_tls_staple(session, staple, staple.count) == 1
    else { return SSL_TLSEXT_ERR_NOACK }
    return SSL_TLSEXT_ERR_OK
}

/// Chooses the first of our protocols that the client has. Without any, the handshake ends (RFC
/// 7301 section 3.2).
func protocolIsChosen(
    _: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?,
    _ offeredCount: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context, let chosen = unsafe chosen else {
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
    let owner = unsafe Unmanaged<TLSServerContext>.fromOpaque(context).takeUnretainedValue()
    let status = unsafe owner.protocols.withUnsafeBufferPointer { ours in
        var match: UnsafeMutablePointer<UInt8>?
        let status = unsafe SSL_select_next_proto(
            &match, chosenCount, ours.baseAddress, UInt32(ours.count), offered, offeredCount)
        // This points into `ours`, which lives as long as the context.
        unsafe chosen.pointee = UnsafePointer(match)
        return status
    }
    return status == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
}

/// Seals or opens a session ticket. Returns 0 if none of our keys made it, and 2 if it should be
/// made again (SSL_CTX_set_tlsext_ticket_key_evp_cb(3)).
func ticketIsHandled(
    _ session: OpaquePointer?, _ name: UnsafeMutablePointer<UInt8>?,
    _ iv: UnsafeMutablePointer<UInt8>?, _ cipher: OpaquePointer?, _ mac: OpaquePointer?,
    _ seals: Int32
) -> Int32 {
    guard let owner = unsafe owner(of: session), let name = unsafe name, let iv = unsafe iv else {
        return -1
    }
    if seals == 1 {
        let key = owner.ticketKeys.sealing
        guard unsafe RAND_bytes(iv, EVP_MAX_IV_LENGTH) == 1 else { return -1 }
        unsafe memcpy(name, key.name, TLSTicketKey.nameByteCount)
        return unsafe sallyport_tls_ticket_start(cipher, mac, key.macKey, key.cipherKey, iv, 1) == 1
            ? 1 : -1
    }
    guard let (key, isOld) = unsafe owner.ticketKeys.opening(name) else { return 0 }
    guard unsafe sallyport_tls_ticket_start(cipher, mac, key.macKey, key.cipherKey, iv, 0) == 1
    else { return -1 }
    return isOld ? 2 : 1
}
