import Bytes
import DER

/// One certificate of a chain, read by the rules of key attestation and not trusted.
///
/// OpenSSL's reader refuses leaves that real phones write: with a distribution point that cannot be
/// read, a TRUE of 0x01, or parameters of ECDSA. So the structure is read here, strictly in all
/// that a decision rests on, and names are kept as bytes.
struct AndroidCertificate: Sendable {
    struct Extension: Sendable {
        /// The contents of the OBJECT IDENTIFIER.
        let oid: [UInt8]
        let value: [UInt8]
    }

    /// The part that the issuer signs, with its tag and length.
    let signedPart: [UInt8]
    /// The algorithm of the issuer's signature; nil if it is not an allowed one.
    let algorithm: SignatureAlgorithm?
    let signature: [UInt8]
    let serial: CertificateSerial
    let issuer: DistinguishedNameBytes
    let subject: DistinguishedNameBytes
    /// The validity in seconds since 1970; nil in a leaf, whose times the phone makes up.
    let validity: ClosedRange<Int64>?
    /// The SubjectPublicKeyInfo in DER, by which roots are compared.
    let keyInfo: [UInt8]
    let key: SubjectPublicKey
    let extensions: [Extension]

    /// Reads exactly one certificate. The times of a leaf are not looked at.
    init(_ der: [UInt8], isLeaf: Bool) throws(CertificateMalformation) {
        guard der.count <= AndroidAttestationVerifier.certificateByteCountMax else {
            throw .tooLong(byteCount: der.count)
        }
        var outer = DERReader(der.span)
        guard let certificate = outer.read(.sequence), outer.isAtEnd else { throw .structure }
        var parts = DERReader(certificate)
        guard let signedPart = parts.readEncoded(.sequence),
            let algorithm = parts.read(.sequence), let signature = parts.read(.bitString),
            parts.isAtEnd, signature.count > 1, signature[0] == 0
        else { throw .structure }
        self.signedPart = signedPart.array
        self.algorithm = SignatureAlgorithm(algorithm)
        self.signature = signature.extracting(1..<signature.count).array

        var whole = DERReader(signedPart)
        guard let content = whole.read(.sequence) else { throw .structure }
        var fields = DERReader(content)
        guard Self.readVersion(&fields), let serial = fields.read(.integer) else {
            throw .structure
        }
        guard let serial = CertificateSerial(serial) else { throw .serialNumber }
        guard let innerAlgorithm = fields.read(.sequence) else { throw .structure }
        guard ASCII.equals(innerAlgorithm, algorithm) else { throw .algorithm }
        guard let issuer = fields.readEncoded(.sequence), let times = fields.read(.sequence),
            let subject = fields.readEncoded(.sequence),
            let keyInfo = fields.readEncoded(.sequence)
        else { throw .structure }
        self.serial = serial
        self.issuer = DistinguishedNameBytes(encoded: issuer.array)
        self.subject = DistinguishedNameBytes(encoded: subject.array)
        validity = try Self.validity(times, isLeaf: isLeaf)
        self.keyInfo = keyInfo.array
        key = SubjectPublicKey(keyInfo)
        extensions = try Self.readExtensions(&fields)
        guard fields.isAtEnd else { throw .structure }
    }

    /// The value of the extension with this OBJECT IDENTIFIER; nil if there is none.
    func extensionValue(_ oid: [UInt8]) -> [UInt8]? {
        extensions.first { $0.oid == oid }?.value
    }

    /// True for version 3, the only one with extensions.
    private static func readVersion(_ fields: inout DERReader) -> Bool {
        guard let tagged = fields.read(.context(0)) else { return false }
        var inner = DERReader(tagged)
        return inner.readInteger() == 2 && inner.isAtEnd
    }

    private static func validity(
        _ times: Span<UInt8>, isLeaf: Bool
    ) throws(CertificateMalformation) -> ClosedRange<Int64>? {
        var reader = DERReader(times)
        guard let first = reader.readElement(), let last = reader.readElement(), reader.isAtEnd,
            isTime(first.tag), isTime(last.tag)
        else { throw .validity }
        if isLeaf { return nil }
        guard let notBefore = CertificateTime.seconds(first),
            let notAfter = CertificateTime.seconds(last), notBefore <= notAfter
        else { throw .validity }
        return notBefore...notAfter
    }

    private static func isTime(_ tag: DERTag) -> Bool {
        tag == .utcTime || tag == .generalizedTime
    }

    /// Reads the extensions, of which each may occur once (RFC 5280 section 4.2).
    private static func readExtensions(
        _ fields: inout DERReader
    ) throws(CertificateMalformation) -> [Extension] {
        if fields.isAtEnd { return [] }
        guard let tagged = fields.read(.context(3)) else { throw .structure }
        var outer = DERReader(tagged)
        guard let list = outer.read(.sequence), outer.isAtEnd else { throw .extensions }
        var reader = DERReader(list)
        var extensions: [Extension] = []
        while !reader.isAtEnd {
            guard let item = reader.read(.sequence) else { throw .extensions }
            var parts = DERReader(item)
            guard let oid = parts.read(.objectIdentifier)?.array else { throw .extensions }
            var isCritical = false
            if parts.nextTag == .boolean {
                guard let flag = parts.readBoolean() else { throw .extensions }
                isCritical = flag
            }
            guard let value = parts.read(.octetString), parts.isAtEnd,
                !extensions.contains(where: { $0.oid == oid })
            else { throw .extensions }
            guard !isCritical || ObjectIdentifiers.isKnownExtension(oid) else {
                throw .criticalExtension
            }
            extensions.append(Extension(oid: oid, value: value.array))
        }
        return extensions
    }
}
