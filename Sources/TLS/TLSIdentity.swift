import COpenSSL
import Crypto

/// A certificate chain and the private key of its first certificate.
///
/// Nothing changes it after `init`, and OpenSSL lets any number of threads read one certificate and
/// key at the same time (openssl-threads(7)).
@safe
public final class TLSIdentity: @unchecked Sendable {
    /// The kind of key. A server may have one of each kind for a name; the client's signature
    /// algorithms decide.
    public enum KeyKind: UInt8, Hashable, Sendable {
        case rsa
        case ecdsa
        case edwards
    }

    public let keyKind: KeyKind
    /// The DNS names of the certificate in lower case, including wildcards such as `*.example.com`;
    /// if it has none, the subject's common name.
    public let names: [String]
    /// The serial number that the issuer chose, big-endian.
    let serialNumber: [UInt8]
    /// The first second of the validity, in seconds since 1970.
    public let notBefore: Int64
    /// The last second of the validity, in seconds since 1970.
    public let notAfter: Int64
    /// The chain in DER, by which identities are compared, because the key follows from it.
    private let chainDER: [[UInt8]]

    let certificate: OpaquePointer
    let key: OpaquePointer
    private let stack: CertificateStack
    private let ownedKey: Owned

    /// `certificatePEM` begins with the certificate of the key; its issuers follow in order. Both
    /// may be the same text.
    public init(certificatePEM: [UInt8], keyPEM: [UInt8]) throws(TLSError) {
        let stack = try CertificateStack(pem: certificatePEM)
        let ownedKey = try Self.readKey(keyPEM)
        guard let certificate = unsafe sallyport_certificates_at(stack.pointer, 0) else {
            throw TLSError("holds no PEM certificate")
        }
        let key = unsafe ownedKey.pointer
        ErrorQueue.clear()
        guard unsafe X509_check_private_key(certificate, key) == 1 else {
            throw TLSError(
                ErrorQueue.drain("the private key is not the one of the certificate"))
        }
        keyKind =
            switch unsafe EVP_PKEY_get_base_id(key) {
            case EVP_PKEY_RSA, EVP_PKEY_RSA_PSS: .rsa
            case EVP_PKEY_EC: .ecdsa
            case EVP_PKEY_ED25519, EVP_PKEY_ED448: .edwards
            default: throw TLSError("a private key is neither RSA nor of an elliptic curve")
            }
        names = try unsafe Self.names(of: certificate)
        serialNumber = unsafe Self.bytes(of: X509_get0_serialNumber(certificate))
        guard let notBefore = unsafe X509Fields.seconds(X509_get0_notBefore(certificate)),
            let notAfter = unsafe X509Fields.seconds(X509_get0_notAfter(certificate))
        else { throw TLSError("the certificate's dates cannot be read") }
        self.notBefore = notBefore
        self.notAfter = notAfter
        var chainDER: [[UInt8]] = []
        for index in 0..<stack.count {
            chainDER.append(
                try unsafe Self.der(of: sallyport_certificates_at(stack.pointer, Int32(index))))
        }
        self.chainDER = chainDER
        unsafe self.certificate = certificate
        unsafe self.key = key
        self.stack = stack
        self.ownedKey = ownedKey
    }

    /// Gives `context` the certificate, the key and the certificates between it and its root.
    func use(in context: OpaquePointer) throws(TLSError) {
        ErrorQueue.clear()
        // Only the issuers, because the stack begins with the certificate itself.
        guard let issuers = unsafe sallyport_certificates_new() else {
            throw TLSError("out of memory")
        }
        defer { unsafe sallyport_certificates_free(issuers) }
        for index in 1..<max(1, stack.count) {
            let issuer = unsafe sallyport_certificates_at(stack.pointer, Int32(index))
            guard unsafe sallyport_certificates_append(issuers, issuer) == 1 else {
                throw TLSError(ErrorQueue.drain("out of memory"))
            }
        }
        guard unsafe SSL_CTX_use_cert_and_key(context, certificate, key, issuers, 1) == 1 else {
            throw TLSError(ErrorQueue.drain("OpenSSL does not accept the certificate"))
        }
    }

    public enum Validity: Sendable {
        case valid
        case notYet
        case expired
    }

    /// The validity of the certificate by this machine's clock.
    public var validity: Validity {
        let now = Int64(time(nil))
        if now < notBefore { return .notYet }
        return now > notAfter ? .expired : .valid
    }

    private static func readKey(_ pem: [UInt8]) throws(TLSError) -> Owned {
        ErrorQueue.clear()
        guard
            let bio = unsafe Owned(
                BIO_new_mem_buf(pem, Int32(pem.count)), freedBy: { unsafe BIO_free_all($0) })
        else { throw TLSError(ErrorQueue.drain("out of memory")) }
        var isEncrypted = false
        // Without a callback OpenSSL would ask the terminal for an encrypted key's password.
        let key = unsafe PEM_read_bio_PrivateKey(
            bio.pointer, nil,
            { _, _, _, context in
                unsafe context?.assumingMemoryBound(to: Bool.self).pointee = true
                return -1
            }, &isEncrypted)
        if let owned = unsafe Owned(key, freedBy: EVP_PKEY_free) { return owned }
        guard !isEncrypted else {
            ErrorQueue.clear()
            throw TLSError(
                "holds an encrypted private key, and no passphrase is supported: decrypt it with "
                    + "openssl pkey", isAboutKey: true)
        }
        throw TLSError(ErrorQueue.drain("holds no private key in PEM"), isAboutKey: true)
    }

    private static func names(of certificate: OpaquePointer) throws(TLSError) -> [String] {
        var names: [String] = []
        var reason: Int32 = 0
        let alternatives = unsafe sallyport_names_of(certificate, &reason)
        // -1 means that there are none. Names that cannot be read must not count as none.
        guard unsafe alternatives != nil || reason == -1 else {
            throw TLSError(ErrorQueue.drain("the certificate's names cannot be read"))
        }
        defer { unsafe GENERAL_NAMES_free(alternatives) }
        for index in 0..<(unsafe sallyport_names_count(alternatives)) {
            var bytes: UnsafePointer<UInt8>?
            let count = unsafe sallyport_dns_name_at(alternatives, index, &bytes)
            guard count > 0 else { continue }
            let name = unsafe String(
                decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
            names.append(name.lowercased())
        }
        if names.isEmpty, let name = unsafe commonName(of: certificate) { return [name] }
        return names
    }

    private static func commonName(of certificate: OpaquePointer) -> String? {
        var text = [CChar](repeating: 0, count: 256)
        let count = unsafe X509_NAME_get_text_by_NID(
            X509_get_subject_name(certificate), NID_commonName, &text, Int32(text.count))
        guard count > 0 else { return nil }
        let bytes = text.prefix(Int(count)).map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }

    static func bytes(of number: UnsafePointer<ASN1_INTEGER>?) -> [UInt8] {
        guard let number = unsafe number else { return [] }
        let count = Int(unsafe ASN1_STRING_length(number))
        return unsafe Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(number), count: count))
    }

    private static func der(of certificate: OpaquePointer?) throws(TLSError) -> [UInt8] {
        guard let der = unsafe EncodedBytes.taken(from: { unsafe Int(i2d_X509(certificate, $0)) })
        else { throw TLSError(ErrorQueue.drain("encoding a certificate")) }
        return der
    }
}

extension TLSIdentity: Hashable {
    public static func == (left: TLSIdentity, right: TLSIdentity) -> Bool {
        left.chainDER == right.chainDER
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(chainDER) }
}
