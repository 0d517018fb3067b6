/// The OBJECT IDENTIFIERs that chains have, as the contents of their DER.
enum ObjectIdentifiers {
    /// 1.3.6.1.4.1.11129.2.1.17: the extension that describes the key.
    static let keyDescription: [UInt8] = [
        0x2B, 0x06, 0x01, 0x04, 0x01, 0xD6, 0x79, 0x02, 0x01, 0x11,
    ]
    /// 1.3.6.1.4.1.11129.2.1.30: the extension of a remotely provisioned certificate.
    static let provisioningInfo: [UInt8] = [
        0x2B, 0x06, 0x01, 0x04, 0x01, 0xD6, 0x79, 0x02, 0x01, 0x1E,
    ]
    /// 2.5.4.10
    static let organizationName: [UInt8] = [0x55, 0x04, 0x0A]

    // MARK: keys

    /// 1.2.840.113549.1.1.1
    static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
    /// 1.2.840.10045.2.1
    static let ecPublicKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    /// 1.2.840.10045.3.1.7
    static let p256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    /// 1.3.132.0.34
    static let p384: [UInt8] = [0x2B, 0x81, 0x04, 0x00, 0x22]

    // MARK: signatures

    /// 1.2.840.113549.1.1.11
    static let sha256WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B]
    /// 1.2.840.10045.4.3.2
    static let ecdsaWithSHA256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]
    /// 1.2.840.10045.4.3.3
    static let ecdsaWithSHA384: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03]

    /// The last arcs of the extensions of RFC 5280 section 4.2 (`2.5.29.N`) that a certificate may
    /// mark as critical: key identifiers, key usage, basic and name constraints, distribution
    /// points, policies and extended key usage.
    static let standardExtensionArcs: Set<UInt8> = [14, 15, 19, 30, 31, 32, 35, 37]

    /// True for an extension that a chain may mark as critical.
    static func isKnownExtension(_ oid: [UInt8]) -> Bool {
        if oid == keyDescription || oid == provisioningInfo { return true }
        return oid.count == 3 && oid[0] == 0x55 && oid[1] == 0x1D
            && standardExtensionArcs.contains(oid[2])
    }
}
