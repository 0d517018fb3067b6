import AttestationTesting
import Bytes
import Crypto
import DER

/// A certificate written field by field, so that each can be as real makers, or forgers, write it.
/// `CertificateBuilder` leaves the encoding to OpenSSL, which writes none of the odd forms.
struct CertificateWriter {
    /// The form of the flag of a critical extension.
    enum Criticality {
        case none
        case critical
        /// TRUE as 0x01, which DER does not allow and some makers write.
        case criticalAsOne

        var flag: [UInt8] {
            switch self {
            case .none: []
            case .critical: DERWriter.boolean(true)
            case .criticalAsOne: DERWriter.element(0x01, [0x01])
            }
        }
    }

    struct Extension {
        var oid: [UInt8]
        var criticality = Criticality.none
        var value: [UInt8]
    }

    /// The way in which the certificate is signed.
    enum Signing {
        case ecdsa(CertificateBuilder.Digest, hasNullParameters: Bool = false)
        /// An algorithm in DER, with bytes that are no signature.
        case other(algorithm: [UInt8], signature: [UInt8])
    }

    /// As it is written: 2 is version 3.
    var version: Int64 = 2
    /// The contents of the INTEGER.
    var serial: [UInt8]
    /// A Name in DER.
    var issuer: [UInt8]
    /// A Name in DER.
    var subject: [UInt8]
    /// Seconds since 1970.
    var notBefore: Int64
    /// Seconds since 1970.
    var notAfter: Int64
    /// True if even times before 2050 have four digits for the year.
    var isTimeGeneralized = false
    /// The SubjectPublicKeyInfo in DER.
    var keyInfo: [UInt8]
    var extensions: [Extension]
    var signing = Signing.ecdsa(.sha256)
    /// True if the signed part names another algorithm than the signature.
    var hasOtherInnerAlgorithm = false

    /// The certificate in DER, signed by `key`.
    func der(signedBy key: ECPrivateKey) throws(SimulationError) -> [UInt8] {
        let part = signedPart
        let signature: [UInt8]
        switch signing {
        case .ecdsa(let digest, _):
            signature = try SimulationError.wrap { () throws(CryptoError) in
                try key.sign(part, digest: digest)
            }
        case .other(_, let bytes): signature = bytes
        }
        return DERWriter.sequence([part, algorithm, DERWriter.bitString(signature)])
    }

    private var signedPart: [UInt8] {
        let validity = DERWriter.sequence([time(notBefore), time(notAfter)])
        let inner =
            hasOtherInnerAlgorithm
            ? DERWriter.sequence([DERWriter.objectIdentifier(TestIdentifiers.ecdsaWithSHA384)])
            : algorithm
        var fields = [
            DERWriter.context(0, DERWriter.integer(version)), DERWriter.element(0x02, serial),
            inner, issuer, validity, subject, keyInfo,
        ]
        if !extensions.isEmpty {
            let items = extensions.map { item in
                DERWriter.sequence([
                    DERWriter.objectIdentifier(item.oid), item.criticality.flag,
                    DERWriter.octetString(item.value),
                ])
            }
            fields.append(DERWriter.context(3, DERWriter.sequence(items)))
        }
        return DERWriter.sequence(fields)
    }

    private var algorithm: [UInt8] {
        switch signing {
        case .other(let algorithm, _): return algorithm
        case .ecdsa(let digest, let hasNullParameters):
            let oid =
                switch digest {
                case .sha256: TestIdentifiers.ecdsaWithSHA256
                case .sha384: TestIdentifiers.ecdsaWithSHA384
                case .sha1: TestIdentifiers.ecdsaWithSHA1
                }
            let parameters = hasNullParameters ? DERWriter.null : []
            return DERWriter.sequence([DERWriter.objectIdentifier(oid), parameters])
        }
    }

    /// A time as RFC 5280 section 4.1.2.5 wants it: two digits for the years from 1950 to 2049.
    private func time(_ seconds: Int64) -> [UInt8] {
        let time = CivilTime(secondsSince1970: seconds)
        func digits(_ number: Int) -> String { String(String(100 + number).dropFirst()) }
        let rest =
            [time.month, time.day, time.hour, time.minute, time.second].map(digits).joined() + "Z"
        let isShort = (1950..<2050).contains(time.year) && !isTimeGeneralized
        let year =
            isShort ? digits(time.year % 100) : String(String(10_000 + time.year).dropFirst())
        return DERWriter.element(isShort ? 0x17 : 0x18, Array((year + rest).utf8))
    }

    /// A Name of one attribute per relative name.
    static func name(_ attributes: [(type: [UInt8], value: String)]) -> [UInt8] {
        DERWriter.sequence(
            attributes.map { attribute in
                DERWriter.set([
                    DERWriter.sequence([
                        DERWriter.objectIdentifier(attribute.type),
                        DERWriter.utf8String(attribute.value),
                    ])
                ])
            })
    }
}

/// The contents of OBJECT IDENTIFIERs.
enum TestIdentifiers {
    static let commonName: [UInt8] = [0x55, 0x04, 0x03]
    static let serialNumber: [UInt8] = [0x55, 0x04, 0x05]
    static let organization: [UInt8] = [0x55, 0x04, 0x0A]
    static let title: [UInt8] = [0x55, 0x04, 0x0C]
    static let keyUsage: [UInt8] = [0x55, 0x1D, 0x0F]
    static let basicConstraints: [UInt8] = [0x55, 0x1D, 0x13]
    static let distributionPoints: [UInt8] = [0x55, 0x1D, 0x1F]
    static let ecdsaWithSHA1: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x01]
    static let ecdsaWithSHA256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]
    static let ecdsaWithSHA384: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03]
    static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
    static let sha256WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B]
    /// 1.3.6.1.4.1.11129.2.1.17
    static let keyDescription: [UInt8] = [
        0x2B, 0x06, 0x01, 0x04, 0x01, 0xD6, 0x79, 0x02, 0x01, 0x11,
    ]
    /// 1.3.6.1.4.1.11129.2.1.30
    static let provisioningInfo: [UInt8] = [
        0x2B, 0x06, 0x01, 0x04, 0x01, 0xD6, 0x79, 0x02, 0x01, 0x1E,
    ]
    /// 1.3.6.1.4.1.236.11.3.23.7: the extension of Samsung's Knox.
    static let knox: [UInt8] = [
        0x2B, 0x06, 0x01, 0x04, 0x01, 0x81, 0x6C, 0x0B, 0x03, 0x17, 0x07,
    ]
}
