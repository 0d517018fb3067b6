import AppAttestTesting
import Crypto
import DER

/// A certificate written field by field, so that each can be wrong. `CertificateBuilder` leaves the
/// encoding to OpenSSL, which writes neither version 1 with extensions nor a negative number.
struct RawCertificate {
    /// As it is written: 2 is version 3; nil leaves the field out, which is version 1.
    var version: UInt8? = 2
    /// The content of the INTEGER.
    var serial: [UInt8] = [0x01] + RandomBytes.bytes(15)
    /// The issuer's and the subject's Name, in DER.
    var issuer: [UInt8]
    var subject: [UInt8]
    /// Whole elements.
    var notBefore = Self.utcTime("250101000000Z")
    var notAfter = Self.utcTime("350101000000Z")
    /// SubjectPublicKeyInfo in DER.
    var info: [UInt8]
    /// The optional fields between key and extensions, whole.
    var uniqueIDs: [UInt8] = []
    /// Each a whole Extension.
    var extensions: [[UInt8]]
    var signer: PathKey
    var algorithm = PathAlgorithm.ecdsaSHA256
    /// The algorithm inside what is signed, where it is another.
    var signedAlgorithm: PathAlgorithm?
    /// Whether the signature is broken.
    var isDamaged = false

    func der() throws -> [UInt8] {
        var fields: [[UInt8]] = version.map { [DERWriter.context(0, DERWriter.integer($0))] } ?? []
        fields.append(DERWriter.element(0x02, serial))
        fields.append((signedAlgorithm ?? algorithm).der)
        fields += [issuer, DERWriter.sequence([notBefore, notAfter]), subject, info, uniqueIDs]
        if !extensions.isEmpty {
            fields.append(DERWriter.context(3, DERWriter.sequence(extensions)))
        }
        let signed = DERWriter.sequence(fields)
        var signature = try signer.sign(signed, algorithm)
        if isDamaged { signature[signature.count - 1] ^= 1 }
        return DERWriter.sequence([
            signed, algorithm.der, DERWriter.element(0x03, [0] + signature),
        ])
    }

    static func utcTime(_ text: String) -> [UInt8] { DERWriter.element(0x17, Array(text.utf8)) }

    static func generalizedTime(_ text: String) -> [UInt8] {
        DERWriter.element(0x18, Array(text.utf8))
    }
}

/// Parts of certificates in DER.
enum PathDER {
    static let utf8: UInt8 = 0x0C
    static let printable: UInt8 = 0x13
    static let organization: [UInt8] = [0x55, 0x04, 0x0A]
    static let commonName: [UInt8] = [0x55, 0x04, 0x03]

    static func attribute(_ oid: [UInt8], _ text: String, _ tag: UInt8 = utf8) -> [UInt8] {
        DERWriter.set([
            DERWriter.sequence([
                DERWriter.element(0x06, oid), DERWriter.element(tag, Array(text.utf8)),
            ])
        ])
    }

    /// An organization and a common name.
    static func name(_ text: String, _ tag: UInt8 = utf8) -> [UInt8] {
        DERWriter.sequence([
            attribute(organization, "Paths", tag), attribute(commonName, text, tag),
        ])
    }

    /// `oid` without tag and length.
    static func item(_ oid: [UInt8], critical: Bool = false, _ value: [UInt8]) -> [UInt8] {
        DERWriter.sequence([
            DERWriter.element(0x06, oid), critical ? [0x01, 0x01, 0xFF] : [],
            DERWriter.octetString(value),
        ])
    }

    /// An extension of RFC 5280: 2.5.29.`number`.
    static func standard(_ number: UInt8, critical: Bool = false, _ value: [UInt8]) -> [UInt8] {
        item([0x55, 0x1D, number], critical: critical, value)
    }

    static func constraints(
        isCA: Bool, _ pathLength: UInt8? = nil, critical: Bool = true
    ) -> [UInt8] {
        let length = pathLength.map { DERWriter.integer($0) } ?? []
        return standard(
            19, critical: critical,
            DERWriter.sequence([isCA ? [0x01, 0x01, 0xFF] : [], length]))
    }

    /// The content of the BIT STRING: unused bits, bits.
    static func usage(_ bits: [UInt8], critical: Bool = true) -> [UInt8] {
        standard(15, critical: critical, DERWriter.element(0x03, bits))
    }

    static let signsCertificates: [UInt8] = [0x01, 0x06]
    static let signsListsAlone: [UInt8] = [0x01, 0x02]
    static let signsCertificatesAlone: [UInt8] = [0x02, 0x04]
    static let signsData: [UInt8] = [0x07, 0x80]

    /// Certificate policies, or any extension that is a list of object identifiers inside another.
    static func policies(_ oids: [UInt8]..., critical: Bool = false) -> [UInt8] {
        let items = oids.map { DERWriter.sequence([DERWriter.element(0x06, $0)]) }
        return standard(32, critical: critical, DERWriter.sequence(items))
    }

    static let anyPolicy: [UInt8] = [0x55, 0x1D, 0x20, 0x00]
    /// Two of NIST's policies for tests.
    static let policyOne: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x02, 0x01, 0x30, 0x01]
    static let policyTwo: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x02, 0x01, 0x30, 0x02]

    /// requireExplicitPolicy and inhibitPolicyMapping of policy constraints.
    static func policyConstraints(
        explicit: UInt8?, mapping: UInt8? = nil, critical: Bool = true
    ) -> [UInt8] {
        let first: [UInt8] = explicit.map { [0x80, 1, $0] } ?? []
        let second: [UInt8] = mapping.map { [0x81, 1, $0] } ?? []
        return standard(36, critical: critical, DERWriter.sequence([first, second]))
    }

    static func policyMapping(_ from: [UInt8], _ to: [UInt8]) -> [UInt8] {
        standard(
            33, critical: true,
            DERWriter.sequence([
                DERWriter.sequence([DERWriter.element(0x06, from), DERWriter.element(0x06, to)])
            ]))
    }

    /// Name constraints of one GeneralName, permitted or excluded.
    static func nameConstraints(
        permitted: [UInt8]? = nil, excluded: [UInt8]? = nil, critical: Bool = true
    ) -> [UInt8] {
        var trees: [[UInt8]] = []
        if let permitted {
            trees.append(DERWriter.context(0, DERWriter.sequence([permitted])))
        }
        if let excluded {
            trees.append(DERWriter.context(1, DERWriter.sequence([excluded])))
        }
        return standard(30, critical: critical, DERWriter.sequence(trees))
    }

    static func dnsName(_ text: String) -> [UInt8] { DERWriter.element(0x82, Array(text.utf8)) }
    static func directoryName(_ name: [UInt8]) -> [UInt8] { DERWriter.context(4, name) }

    static func alternativeName(_ name: [UInt8], critical: Bool = false) -> [UInt8] {
        standard(17, critical: critical, DERWriter.sequence([name]))
    }

    /// Some bytes as a key identifier.
    static func subjectKey(_ byte: UInt8, critical: Bool = false) -> [UInt8] {
        standard(14, critical: critical, DERWriter.octetString([byte, byte]))
    }

    static func authorityKey(_ byte: UInt8, critical: Bool = false) -> [UInt8] {
        standard(35, critical: critical, DERWriter.sequence([[0x80, 2, byte, byte]]))
    }
}
