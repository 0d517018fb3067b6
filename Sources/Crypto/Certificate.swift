public import Bytes
import COpenSSL

/// An X.509 certificate (RFC 5280) in DER, parsed but not trusted; ``CertificateChain`` decides
/// about trust.
///
/// Nothing changes it after `init`, and OpenSSL guards what it caches inside, so any number of
/// threads may read one at the same time.
@safe
public final class Certificate: @unchecked Sendable {
    public let der: [UInt8]
    /// SHA-256 of the DER, by which operators pin and compare certificates.
    public let fingerprint: Bytes32
    /// The public key, or nil unless it is an uncompressed point on the named curve P-256.
    public let publicKey: P256PublicKey?
    /// The curve of the public key, or nil unless that is P-256 or P-384.
    public let curve: ECPrivateKey.Curve?
    /// The first second of the validity, in seconds since 1970.
    public let notBefore: Int64
    /// The last second of the validity, in seconds since 1970.
    public let notAfter: Int64
    /// The algorithm of the issuer's signature, as a dotted decimal OID: `1.2.840.10045.4.3.2` is
    /// ecdsa-with-SHA256.
    public let signatureAlgorithm: String
    /// The subject in RFC 4514's form, for people. Never compare it.
    public let subject: String
    /// The issuer in RFC 4514's form, for people. Never compare it.
    public let issuer: String
    /// The subject's only common name; nil if there is none or more than one.
    public let commonName: String?
    /// True if the basic constraints say so; never for a certificate of version 1.
    public let isCA: Bool
    /// The number of intermediates that may stand between this CA and a leaf; nil for no limit.
    public let pathLength: Int?
    /// The extensions in their order. No two have the same OID.
    public let extensions: [CertificateExtension]

    private let owned: Owned

    /// The most bytes of a certificate. Apple's are under 1.5 KiB.
    public static let byteCountMax = 16 * 1024

    /// Parses exactly one certificate: BER that is not DER, and bytes behind it, are refused.
    public init(der: [UInt8]) throws(CryptoError) {
        ErrorQueue.clear()
        let owned = try Self.decode(der)
        let pointer = unsafe owned.pointer
        // Makes OpenSSL parse and cache the extensions that it knows; fails if one is malformed.
        guard unsafe X509_check_purpose(pointer, -1, 0) == 1 else {
            throw .malformed(ErrorQueue.drain("certificate extensions"))
        }
        guard let notBefore = unsafe X509Fields.seconds(X509_get0_notBefore(pointer)),
            let notAfter = unsafe X509Fields.seconds(X509_get0_notAfter(pointer))
        else { throw .malformed(ErrorQueue.drain("certificate validity")) }
        self.notBefore = notBefore
        self.notAfter = notAfter
        signatureAlgorithm = try unsafe X509Fields.signatureAlgorithm(of: pointer)
        subject = try unsafe X509Fields.text(of: X509_get_subject_name(pointer))
        issuer = try unsafe X509Fields.text(of: X509_get_issuer_name(pointer))
        commonName = try unsafe X509Fields.commonName(in: X509_get_subject_name(pointer))
        extensions = try unsafe X509Fields.extensions(of: pointer)
        let named = unsafe X509Fields.namedCurvePoint(of: pointer)
        curve = named?.curve
        publicKey = named.flatMap { $0.curve == .p256 ? P256PublicKey(x963: $0.point.span) : nil }
        isCA = unsafe X509_check_ca(pointer) == 1
        let pathLength = unsafe X509_get_pathlen(pointer)
        self.pathLength = pathLength >= 0 ? pathLength : nil
        fingerprint = SHA256.hash(der)
        self.der = der
        self.owned = owned
    }

    /// OpenSSL's object. Keep the certificate alive while using it.
    var handle: OpaquePointer { unsafe owned.pointer }

    /// The content of the OCTET STRING of the extension with this dotted decimal OID, or nil if
    /// there is none.
    public func extensionValue(oid: String) -> [UInt8]? {
        extensions.first { $0.oid == oid }?.value
    }

    private static func decode(_ der: [UInt8]) throws(CryptoError) -> Owned {
        guard der.count <= byteCountMax else {
            throw .malformed("certificate: \(der.count) bytes")
        }
        var readCount = 0
        let pointer = unsafe der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            let pointer = unsafe d2i_X509(nil, &position, bytes.count)
            if let start = bytes.baseAddress, let position = unsafe position {
                readCount = unsafe position - start
            }
            return unsafe pointer
        }
        guard let owned = unsafe Owned(pointer, freedBy: X509_free) else {
            throw .malformed(ErrorQueue.drain("certificate"))
        }
        guard readCount == der.count else { throw .malformed("certificate: bytes behind it") }
        // OpenSSL accepts BER, and re-encodes the part that the issuer has signed as it came. So
        // comparing the encoding finds only BER outside of that part.
        guard DERForm.isStrict(der.span), try unsafe encode(owned.pointer) == der else {
            throw .malformed("certificate: not DER")
        }
        return owned
    }

    static func encode(_ pointer: OpaquePointer) throws(CryptoError) -> [UInt8] {
        guard let der = unsafe EncodedBytes.taken(from: { unsafe Int(i2d_X509(pointer, $0)) })
        else { throw .failed(ErrorQueue.drain("encoding a certificate")) }
        return der
    }
}

extension Certificate: Hashable {
    public static func == (left: Certificate, right: Certificate) -> Bool { left.der == right.der }

    public func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}
