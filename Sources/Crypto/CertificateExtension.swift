/// One extension of a certificate (RFC 5280 section 4.2).
public struct CertificateExtension: Hashable, Sendable {
    /// The OID in dotted decimal.
    public let oid: String
    public let isCritical: Bool
    /// The content of the OCTET STRING, commonly DER.
    public let value: [UInt8]

    public init(oid: String, isCritical: Bool = false, value: [UInt8]) {
        self.oid = oid
        self.isCritical = isCritical
        self.value = value
    }

    /// The extension of RFC 5280 section 4.2.1.9. Only a CA may have a `pathLength` (0 to 127).
    public static func basicConstraints(isCA: Bool, pathLength: UInt8? = nil) -> Self {
        var contents: [UInt8] = isCA ? [0x01, 0x01, 0xFF] : []
        if let pathLength { contents += [0x02, 0x01, pathLength & 0x7F] }
        return Self(
            oid: "2.5.29.19", isCritical: true, value: [0x30, UInt8(contents.count)] + contents)
    }

    /// The key usage of RFC 5280 section 4.2.1.3, for a certificate that signs certificates.
    public static let certificateSigning = Self(
        oid: "2.5.29.15", isCritical: true, value: [0x03, 0x02, 0x01, 0x06])

    /// The key usage of RFC 5280 section 4.2.1.3, for a certificate that signs data.
    public static let digitalSignature = Self(
        oid: "2.5.29.15", isCritical: true, value: [0x03, 0x02, 0x07, 0x80])

    /// The extension of RFC 5280 section 4.2.1.2: 20 bytes that name the subject's key.
    public static func subjectKeyIdentifier(_ key: SubjectKey) throws(CryptoError) -> Self {
        Self(oid: "2.5.29.14", value: [0x04, 20] + (try key.identifier()))
    }

    /// The extension of RFC 5280 section 4.2.1.1: 20 bytes that name the issuer's key.
    public static func authorityKeyIdentifier(_ key: SubjectKey) throws(CryptoError) -> Self {
        Self(oid: "2.5.29.35", value: [0x30, 22, 0x80, 20] + (try key.identifier()))
    }
}
