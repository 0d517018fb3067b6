import COpenSSL
import Crypto

/// Asks OpenSSL about single settings, so that a configuration check can say which one is wrong.
public enum TLSCheck {
    public static func ciphers(_ list: String) throws(TLSError) {
        try unsafe check(list, TLSParameters.setCiphers)
    }

    public static func cipherSuites(_ list: String) throws(TLSError) {
        try unsafe check(list, TLSParameters.setCipherSuites)
    }

    public static func groups(_ list: String) throws(TLSError) {
        try unsafe check(list, TLSParameters.setGroups)
    }

    private static func check(
        _ list: String, _ set: (String, OpaquePointer) throws(TLSError) -> Void
    ) throws(TLSError) {
        let context = unsafe Owned(SSL_CTX_new(TLS_method()), freedBy: SSL_CTX_free)
        guard let context else { throw TLSError(ErrorQueue.drain("TLS context")) }
        try unsafe set(list, context.pointer)
    }
}
