import COpenSSL
import Crypto

/// Certificate authorities that vouch for peers.
///
/// Nothing changes it after `init`, and OpenSSL guards what it caches inside.
@safe
public final class TLSAuthorities: @unchecked Sendable {
    let store: OpaquePointer
    let stack: CertificateStack
    public let revocations: TLSRevocations?
    /// SHA-256 of the PEM texts.
    let digest: [UInt8]

    /// Parses the certificates of a PEM text, at least one. With `revocations`, revoked
    /// certificates are refused, and so are all of an authority whose list is missing or out of
    /// date.
    public init(pem: [UInt8], revocations: TLSRevocations? = nil) throws(TLSError) {
        let stack = try CertificateStack(pem: pem)
        guard let store = unsafe X509_STORE_new() else { throw TLSError("out of memory") }
        for index in 0..<stack.count {
            let certificate = unsafe sallyport_certificates_at(stack.pointer, Int32(index))
            guard unsafe X509_STORE_add_cert(store, certificate) == 1 else {
                unsafe X509_STORE_free(store)
                throw TLSError(ErrorQueue.drain("OpenSSL does not accept a certificate"))
            }
        }
        do throws(TLSError) {
            try unsafe revocations?.use(in: store)
        } catch {
            unsafe X509_STORE_free(store)
            throw error
        }
        unsafe self.store = store
        self.stack = stack
        self.revocations = revocations
        // The text's length comes first, so that two other texts cannot look the same.
        let text = Array("\(pem.count):".utf8) + pem + (revocations?.pem ?? [])
        var digest = [UInt8](repeating: 0, count: 32)
        unsafe SHA256(text, text.count, &digest)
        self.digest = digest
    }

    /// The subjects of the authorities whose certificates are refused because ``revocations`` has
    /// no list of theirs.
    public var withoutRevocations: [String] {
        guard let revocations else { return [] }
        return (0..<stack.count).compactMap { index in
            let certificate = unsafe sallyport_certificates_at(stack.pointer, Int32(index))
            guard unsafe !revocations.cover(certificate) else { return nil }
            return (try? unsafe X509Fields.text(of: X509_get_subject_name(certificate))) ?? "?"
        }
    }

    deinit { unsafe X509_STORE_free(store) }

    /// Makes `context`, an `SSL_CTX` that another library made, trust these authorities.
    package func use(in context: OpaquePointer) {
        unsafe SSL_CTX_set1_cert_store(context, store)
    }

    /// Names the authorities in the requests for certificates that `context` makes.
    func announce(in context: OpaquePointer) throws(TLSError) {
        for index in 0..<stack.count {
            let certificate = unsafe sallyport_certificates_at(stack.pointer, Int32(index))
            guard unsafe SSL_CTX_add_client_CA(context, certificate) == 1 else {
                throw TLSError("out of memory")
            }
        }
    }

    /// The files in which systems keep the authorities that they trust: Debian and Alpine, Fedora,
    /// openSUSE, the BSDs. A directory of hashed names is not used, because it would be read during
    /// handshakes.
    public static let systemBundlePaths = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
    ]
}

extension TLSAuthorities: Hashable {
    public static func == (left: TLSAuthorities, right: TLSAuthorities) -> Bool {
        left.digest == right.digest
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
