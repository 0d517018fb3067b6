import Bytes
package import COpenSSL

/// Reads the fields that OpenSSL keeps behind accessors.
package enum X509Fields {
    /// The time in seconds since 1970.
    package static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        guard let epoch = unsafe ASN1_TIME_set(nil, 0) else { return nil }
        defer { unsafe ASN1_TIME_free(epoch) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard let time = unsafe time, unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1
        else { return nil }
        return Int64(days) * 86_400 + Int64(seconds)
    }

    static func text(ofObject object: OpaquePointer?) throws(CryptoError) -> String {
        var text = [CChar](repeating: 0, count: 128)
        let count = unsafe OBJ_obj2txt(&text, Int32(text.count), object, 1)
        guard count > 0, count < text.count else { throw .malformed("object identifier") }
        return String(
            decoding: text.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func signatureAlgorithm(of certificate: OpaquePointer) throws(CryptoError) -> String {
        var algorithm: UnsafePointer<X509_ALGOR>?
        unsafe X509_get0_signature(nil, &algorithm, certificate)
        return try unsafe text(ofAlgorithm: algorithm)
    }

    static func text(
        ofAlgorithm algorithm: UnsafePointer<X509_ALGOR>?
    ) throws(CryptoError) -> String {
        var object: OpaquePointer?
        unsafe X509_ALGOR_get0(&object, nil, nil, algorithm)
        return try unsafe text(ofObject: object)
    }

    package static func text(of name: OpaquePointer?) throws(CryptoError) -> String {
        let bio = try MemoryBIO()
        guard unsafe sallyport_name_print(bio.handle, name) >= 0 else {
            throw .malformed(ErrorQueue.drain("distinguished name"))
        }
        return String(decoding: bio.contents, as: UTF8.self)
    }

    /// The common name; nil if there is not exactly one. Throws if it cannot be read, because a
    /// name that is compared must not seem to be missing.
    static func commonName(in name: OpaquePointer?) throws(CryptoError) -> String? {
        let index = unsafe X509_NAME_get_index_by_NID(name, NID_commonName, -1)
        guard index >= 0, unsafe X509_NAME_get_index_by_NID(name, NID_commonName, index) < 0 else {
            return nil
        }
        let string = unsafe X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index))
        var encoded: UnsafeMutablePointer<UInt8>?
        let byteCount = unsafe ASN1_STRING_to_UTF8(&encoded, string)
        guard byteCount >= 0, let encoded = unsafe encoded else {
            throw .malformed(ErrorQueue.drain("common name"))
        }
        defer { unsafe CRYPTO_free(encoded, #file, #line) }
        return unsafe String(
            decoding: UnsafeBufferPointer(start: encoded, count: Int(byteCount)), as: UTF8.self)
    }

    /// The prefix of the OIDs of RFC 5280 section 4.2, whose extensions have values in DER.
    private static let standardExtensions = "2.5.29."

    /// The extensions in their order; RFC 5280 section 4.2 allows each OID once.
    static func extensions(
        of certificate: OpaquePointer
    ) throws(CryptoError) -> [CertificateExtension] {
        var extensions: [CertificateExtension] = []
        var seen: Set<String> = []
        for index in 0..<(unsafe X509_get_ext_count(certificate)) {
            let item = unsafe X509_get_ext(certificate, index)
            let oid = try unsafe text(ofObject: X509_EXTENSION_get_object(item))
            guard seen.insert(oid).inserted else { throw .malformed("certificate: \(oid) twice") }
            let value = unsafe bytes(of: X509_EXTENSION_get_data(item))
            // OpenSSL also accepts BER here, and bytes behind it.
            guard !oid.hasPrefix(standardExtensions) || DERForm.isOneStrict(value.span) else {
                throw .malformed("certificate: \(oid) is not DER")
            }
            extensions.append(
                CertificateExtension(
                    oid: oid, isCritical: unsafe X509_EXTENSION_get_critical(item) > 0,
                    value: value))
        }
        return extensions
    }

    static func bytes(of string: UnsafePointer<ASN1_STRING>?) -> [UInt8] {
        guard let string = unsafe string else { return [] }
        let byteCount = Int(unsafe ASN1_STRING_length(string))
        return unsafe Array(
            UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: byteCount))
    }

    /// The curve and the bytes of the point, if the SubjectPublicKeyInfo names P-256 or P-384 (RFC
    /// 5480 section 2.1.1). Curves with spelled-out parameters are not accepted.
    static func namedCurvePoint(
        of certificate: OpaquePointer
    ) -> (curve: ECPrivateKey.Curve, point: [UInt8])? {
        var algorithm: OpaquePointer?
        var point: UnsafePointer<UInt8>?
        var pointByteCount: Int32 = 0
        var identifier: UnsafeMutablePointer<X509_ALGOR>?
        guard
            unsafe X509_PUBKEY_get0_param(
                &algorithm, &point, &pointByteCount, &identifier,
                X509_get_X509_PUBKEY(certificate)) == 1
        else { return nil }
        var parameterType: Int32 = 0
        var parameter: UnsafeRawPointer?
        unsafe X509_ALGOR_get0(nil, &parameterType, &parameter, identifier)
        guard unsafe OBJ_obj2nid(algorithm) == NID_X9_62_id_ecPublicKey,
            parameterType == V_ASN1_OBJECT
        else { return nil }
        let bytes = unsafe Array(UnsafeBufferPointer(start: point, count: Int(pointByteCount)))
        switch unsafe OBJ_obj2nid(OpaquePointer(parameter)) {
        case NID_X9_62_prime256v1: return (.p256, bytes)
        case NID_secp384r1: return (.p384, bytes)
        default: return nil
        }
    }
}
