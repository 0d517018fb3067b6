import COpenSSL
import Crypto

extension TLSFailure {
    /// Reads OpenSSL's report about a failed call, and empties its error queue.
    static func read(_ result: sallyport_tls_result, of session: OpaquePointer) -> TLSFailure {
        if result.error == SSL_ERROR_SYSCALL {
            ErrorQueue.clear()
            guard result.system_error != 0 else { return .closedEarly }
            return TLSFailure(.network, unsafe String(cString: strerror(result.system_error)))
        }
        let reason = oldestReason
        var text = ErrorQueue.drainReasons()
        if reason == SSL_R_CERTIFICATE_VERIFY_FAILED {
            let verdict = unsafe SSL_get_verify_result(session)
            text += unsafe ": \(String(cString: X509_verify_cert_error_string(verdict)))"
        }
        return TLSFailure(
            kind(reason), text.isEmpty ? "unknown failure" : text,
            isHTTP: reason == SSL_R_HTTP_REQUEST)
    }

    /// The library's own number for the oldest reason; 0 if the reason is not libssl's.
    private static var oldestReason: Int32 {
        let code = ERR_peek_error()
        return ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0
    }

    package static let closedEarly = TLSFailure(.truncated, "closed without close_notify")

    private static func kind(_ reason: Int32) -> Kind {
        switch reason {
        case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_WRONG_VERSION_NUMBER,
            SSL_R_UNKNOWN_PROTOCOL, SSL_R_UNEXPECTED_MESSAGE, SSL_R_RECORD_LENGTH_MISMATCH,
            SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_BAD_RECORD_TYPE:
            .notTLS
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_NO_PROTOCOLS_AVAILABLE,
            SSL_R_INAPPROPRIATE_FALLBACK:
            .version
        case SSL_R_NO_SHARED_CIPHER, SSL_R_NO_SHARED_GROUPS, SSL_R_NO_SUITABLE_KEY_SHARE,
            SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SSL_R_NO_SUITABLE_GROUPS:
            .parameters
        case SSL_R_NO_APPLICATION_PROTOCOL: .applicationProtocol
        case SSL_R_CERTIFICATE_VERIFY_FAILED, SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            .certificate
        // 1000 plus the number of the received alert (ssl.h).
        case 1000...1255: .alert
        default: .other
        }
    }
}
