import COpenSSL

/// Makes certificates, correct and deliberately wrong ones, for simulated devices and tests.
///
/// The extensions are exactly those given; an App Attest leaf, for example, has no key identifiers.
public struct CertificateBuilder: Sendable {
    public enum Issuer: Sendable {
        /// The certificate itself; it is self-signed if its own key signs.
        case itself
        case certificate(Certificate)
        /// An issuer's name without its certificate.
        case name(DistinguishedName)
    }

    /// The digest that is signed. The last case exists to be refused.
    public enum Digest: Sendable {
        case sha256
        case sha384
        case sha1
    }

    public var subject: DistinguishedName
    public var key: SubjectKey
    /// Seconds since 1970.
    public var notBefore: Int64
    /// Seconds since 1970.
    public var notAfter: Int64
    public var extensions: [CertificateExtension]
    /// The serial number, big-endian and positive.
    public var serialNumber: [UInt8] = [0x01] + RandomBytes.bytes(15)

    public init(
        subject: DistinguishedName, key: SubjectKey, notBefore: Int64, notAfter: Int64,
        extensions: [CertificateExtension]
    ) {
        self.subject = subject
        self.key = key
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.extensions = extensions
    }

    /// Signs with `signingKey`, whether or not it is the issuer's.
    public func certificate(
        issuer: Issuer, signingKey: ECPrivateKey, digest: Digest = .sha256
    ) throws(CryptoError) -> Certificate {
        try Certificate(der: der(issuer: issuer, signingKey: signingKey, digest: digest))
    }

    /// Encodes the certificate in DER without parsing it again, for certificates that
    /// ``Certificate`` refuses.
    public func der(
        issuer: Issuer, signingKey: ECPrivateKey, digest: Digest = .sha256
    ) throws(CryptoError) -> [UInt8] {
        ErrorQueue.clear()
        guard let owned = unsafe Owned(X509_new(), freedBy: X509_free) else {
            throw .failed(ErrorQueue.drain("certificate"))
        }
        let pointer = unsafe owned.pointer
        try unsafe setNumbers(pointer)
        try unsafe setKey(pointer)
        try unsafe append(subject, to: X509_get_subject_name(pointer))
        switch issuer {
        case .itself: try unsafe append(subject, to: X509_get_issuer_name(pointer))
        case .name(let name): try unsafe append(name, to: X509_get_issuer_name(pointer))
        case .certificate(let certificate):
            try unsafe require(
                X509_set_issuer_name(pointer, X509_get_subject_name(certificate.handle)) == 1,
                "issuer")
        }
        for item in extensions { try unsafe append(item, to: pointer) }
        try unsafe require(X509_sign(pointer, signingKey.handle, digest.method) > 0, "signing")
        return try unsafe Certificate.encode(pointer)
    }

    private func setNumbers(_ certificate: OpaquePointer) throws(CryptoError) {
        // Counted from zero: 2 is version 3.
        try unsafe require(X509_set_version(certificate, 2) == 1, "version")
        guard
            let number = unsafe Owned(
                BN_bin2bn(serialNumber, Int32(serialNumber.count), nil), freedBy: BN_free)
        else { throw .failed(ErrorQueue.drain("serial number")) }
        let serial = unsafe X509_get_serialNumber(certificate)
        try unsafe require(BN_to_ASN1_INTEGER(number.pointer, serial) != nil, "serial number")
        try unsafe require(
            ASN1_TIME_set(X509_getm_notBefore(certificate), Int(notBefore)) != nil, "notBefore")
        try unsafe require(
            ASN1_TIME_set(X509_getm_notAfter(certificate), Int(notAfter)) != nil, "notAfter")
    }

    private func setKey(_ certificate: OpaquePointer) throws(CryptoError) {
        let info = try key.publicKeyInfo()
        let decoded = unsafe info.withUnsafeBufferPointer { info in
            var position = info.baseAddress
            return unsafe d2i_PUBKEY(nil, &position, info.count)
        }
        guard let publicKey = unsafe Owned(decoded, freedBy: EVP_PKEY_free) else {
            throw .malformed(ErrorQueue.drain("public key"))
        }
        try unsafe require(X509_set_pubkey(certificate, publicKey.pointer) == 1, "public key")
    }

    private func append(
        _ name: DistinguishedName, to target: OpaquePointer?
    ) throws(CryptoError) {
        for attribute in name.attributes {
            let value = Array(attribute.value.utf8)
            let status = unsafe X509_NAME_add_entry_by_txt(
                target, attribute.type, MBSTRING_UTF8, value, Int32(value.count), -1, 0)
            guard status == 1 else {
                throw .malformed(ErrorQueue.drain("name attribute \(attribute.type)"))
            }
        }
    }

    private func append(
        _ item: CertificateExtension, to certificate: OpaquePointer
    ) throws(CryptoError) {
        guard let object = unsafe Owned(OBJ_txt2obj(item.oid, 1), freedBy: ASN1_OBJECT_free) else {
            throw .malformed("object identifier \(item.oid)")
        }
        guard let value = unsafe ASN1_OCTET_STRING_new() else {
            throw .failed(ErrorQueue.drain("extension"))
        }
        defer { unsafe ASN1_OCTET_STRING_free(value) }
        try unsafe require(
            ASN1_OCTET_STRING_set(value, item.value, Int32(item.value.count)) == 1, "extension")
        guard
            let made = unsafe Owned(
                X509_EXTENSION_create_by_OBJ(
                    nil, object.pointer, item.isCritical ? 1 : 0, value),
                freedBy: X509_EXTENSION_free)
        else { throw .failed(ErrorQueue.drain("extension")) }
        try unsafe require(X509_add_ext(certificate, made.pointer, -1) == 1, "extension")
    }

    private func require(_ condition: Bool, _ step: String) throws(CryptoError) {
        guard condition else { throw .failed(ErrorQueue.drain("certificate's \(step)")) }
    }
}

extension CertificateBuilder.Digest {
    /// OpenSSL's implementation, a static object.
    var method: OpaquePointer? {
        switch self {
        case .sha256: unsafe EVP_sha256()
        case .sha384: unsafe EVP_sha384()
        case .sha1: unsafe EVP_sha1()
        }
    }
}
