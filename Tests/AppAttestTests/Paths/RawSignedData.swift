import AppAttestTesting
import Crypto
import DER

/// CMS SignedData (RFC 5652 section 5) written field by field.
struct RawSignedData {
    var content: [UInt8]?
    /// Object identifiers, without tag and length.
    var contentType = Self.data
    var certificates: [[UInt8]]
    var signers: [RawSigner] = []

    static let data: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
    static let signedData: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
    static let sha256 = DERWriter.sequence([
        DERWriter.element(0x06, [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01])
    ])

    func ber() throws -> [UInt8] {
        let signed = content ?? []
        let inner = content.map { [DERWriter.context(0, DERWriter.octetString($0))] } ?? []
        let message = DERWriter.sequence([
            DERWriter.integer(1), DERWriter.set([Self.sha256]),
            DERWriter.sequence([DERWriter.element(0x06, contentType)] + inner),
            certificates.isEmpty ? [] : DERWriter.context(0, certificates.flatMap { $0 }),
            DERWriter.set(try signers.map { try $0.info(signed) }),
        ])
        return DERWriter.sequence([
            DERWriter.element(0x06, Self.signedData), DERWriter.context(0, message),
        ])
    }
}

/// One SignerInfo of it, with SHA-256 and without attributes unless they are given.
struct RawSigner {
    let issuer: [UInt8]
    let serial: [UInt8]
    let key: PathKey
    var algorithm = PathAlgorithm.ecdsaSHA256
    /// Attributes that are signed, each whole.
    var attributes: [[UInt8]] = []
    /// Attributes that are not, such as a countersignature.
    var unsignedAttributes: [[UInt8]] = []

    func info(_ content: [UInt8]) throws -> [UInt8] {
        let signed = attributes.isEmpty ? content : DERWriter.set(attributes)
        return DERWriter.sequence([
            DERWriter.integer(1),
            DERWriter.sequence([issuer, DERWriter.element(0x02, serial)]),
            RawSignedData.sha256,
            attributes.isEmpty ? [] : DERWriter.context(0, attributes.flatMap { $0 }),
            algorithm.der, DERWriter.octetString(try key.sign(signed, algorithm)),
            unsignedAttributes.isEmpty
                ? [] : DERWriter.context(1, unsignedAttributes.flatMap { $0 }),
        ])
    }
}
