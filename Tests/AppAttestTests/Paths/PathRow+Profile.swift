import AppAttestTesting
import Crypto
import DER

/// What x509-limbo asks of the profile of RFC 5280 and the encoding of a certificate.
extension PathRow {
    static let issuersDuty =
        "RFC 5280 asks it of issuers; Apple's own certificates, or those of a"
        + " lab, do without"

    private static func leaf(
        _ name: String, valid isValid: Bool, _ verdict: PathVerdict, reason: String? = nil,
        _ extensions: [UInt8]...
    ) -> PathRow {
        PathRow(name, valid: isValid, verdict, reason: reason) { draft, _ in
            draft.leaf.extensions += extensions
        }
    }

    private static func root(
        _ name: String, valid isValid: Bool, _ verdict: PathVerdict, reason: String? = nil,
        _ extensions: [[UInt8]]
    ) -> PathRow {
        PathRow(name, valid: isValid, verdict, reason: reason) { draft, _ in
            draft.root.extensions = extensions
        }
    }

    private static let marked =
        "receipts are told by their signers' mark, not by what else these"
        + " may do"
    private static let anyLength =
        "RFC 5652 lets a message be BER, so a receipt's certificates are"
        + " looked at once they are DER"

    private static let unhandledAtRoot = PathVerdict.refused(
        "unhandled critical extension, depth 2")
    private static let signs = PathDER.usage(PathDER.signsCertificates)
    private static let isCA = PathDER.constraints(isCA: true)

    static let profile: [PathRow] = [
        PathRow("limbo rfc5280::validity::expired-root", valid: false, .expired) { draft, _ in
            draft.root.notAfter = RawCertificate.utcTime("260930235959Z")
        },
        PathRow("limbo rfc5280::validity::notbefore-exact", valid: true, .accepted) { draft, _ in
            draft.leaf.notBefore = RawCertificate.utcTime("261001000000Z")
        },
        PathRow("limbo rfc5280::validity::notafter-exact", valid: true, .accepted) { draft, _ in
            draft.leaf.notAfter = RawCertificate.utcTime("261001000000Z")
        },
        PathRow("limbo rfc5280::ee-empty-issuer", valid: false, .untrusted) { draft, _ in
            draft.leaf.issuer = DERWriter.sequence([])
        },
        PathRow(
            "limbo rfc5280::ca-empty-subject", valid: false, .accepted, reason: issuersDuty
        ) { draft, _ in
            draft.issuer.subject = DERWriter.sequence([])
            draft.leaf.issuer = DERWriter.sequence([])
        },
        PathRow("limbo rfc5280::chain-untrusted-root", valid: false, .untrusted) { draft, _ in
            draft.chain.append(draft.root)
            draft.isRootTrusted = false
        },
        root("limbo rfc5280::root-missing-basic-constraints", valid: false, .notCA, [signs]),
        root(
            "limbo rfc5280::root-non-critical-basic-constraints", valid: false, .accepted,
            reason: issuersDuty, [PathDER.constraints(isCA: true, critical: false), signs]),
        root(
            "limbo rfc5280::root-inconsistent-ca-extensions", valid: false, .malformed,
            [isCA, PathDER.usage([0x00], critical: false)]),
        root(
            "limbo rfc5280::aki::critical-aki", valid: false, unhandledAtRoot,
            [isCA, signs, PathDER.authorityKey(1, critical: true), PathDER.subjectKey(1)]),
        root(
            "limbo rfc5280::ski::critical-ski", valid: false, unhandledAtRoot,
            [isCA, signs, PathDER.subjectKey(1, critical: true)]),
        root(
            "limbo rfc5280::ski::root-missing-ski", valid: false, .accepted, reason: issuersDuty,
            [isCA, signs]),
        PathRow("limbo rfc5280::aki mismatch of key identifiers", valid: false, .untrusted) {
            draft, _ in
            draft.issuer.extensions.append(PathDER.subjectKey(1))
            draft.leaf.extensions.append(PathDER.authorityKey(2))
        },
        PathRow(
            "limbo rfc5280::leaf-ku-keycertsign", valid: false, .accepted, reason: issuersDuty
        ) { draft, _ in
            draft.leaf.extensions[1] = PathDER.usage([0x02, 0x84], critical: false)
        },
        PathRow("limbo rfc5280::no-keyusage", valid: true, .accepted) { draft, _ in
            draft.leaf.extensions.remove(at: 1)
        },
        PathRow("limbo rfc5280::no-basicconstraints", valid: true, .accepted) { draft, _ in
            draft.leaf.extensions.remove(at: 0)
        },
        PathRow(
            "limbo webpki::ee-basicconstraints-ca", valid: false, .issuing, receipt: .accepted,
            reason: marked
        ) {
            draft, _ in
            draft.leaf.extensions[0] = PathDER.constraints(isCA: true)
            draft.leaf.extensions[1] = PathDER.usage([0x02, 0x84])
        },
        PathRow(
            "limbo rfc5280::eku::ee-wrong-eku", valid: false,
            .refused("its extended key usage is not App Attest's"), receipt: .accepted,
            reason: marked
        ) { draft, _ in
            let purpose = DERWriter.element(0x06, [0x2B, 6, 1, 5, 5, 7, 3, 1])
            draft.leaf.extensions.append(PathDER.standard(37, DERWriter.sequence([purpose])))
        },
        leaf(
            "limbo rfc5280::duplicate-extensions", valid: false, .malformed,
            PathDER.alternativeName(PathDER.dnsName("example.com")),
            PathDER.alternativeName(PathDER.dnsName("example.com"))),
        PathRow(
            "limbo rfc5280::serial::zero", valid: false, .accepted,
            reason: "no serial number decides anything"
        ) { draft, _ in draft.leaf.serial = [0] },
        PathRow(
            "limbo rfc5280::serial::negative", valid: false, .accepted,
            reason: "no serial number decides anything"
        ) { draft, _ in draft.leaf.serial = [0x80, 0x01] },
        PathRow(
            "limbo rfc5280::serial::too-long", valid: false, .accepted,
            reason: "no serial number decides anything"
        ) { draft, _ in draft.leaf.serial = [UInt8](repeating: 0x11, count: 22) },
        PathRow(
            "limbo rfc5280::mismatching-signature-algorithm", valid: false, .signature
        ) { draft, _ in draft.leaf.signedAlgorithm = .ecdsaSHA384 },
        PathRow(
            "RFC 5280 4.1.2.1 version 1 with extensions", valid: false, .accepted,
            reason: "OpenSSL reads them all the same, and each constrains"
        ) { draft, _ in draft.leaf.version = nil },
        PathRow(
            "limbo webpki::v1-cert as an issuer", valid: false, .notCA
        ) { draft, _ in
            draft.issuer.version = nil
            draft.issuer.extensions = []
        },
        PathRow(
            "RFC 5280 4.1.2.1 version 1 spelled out", valid: false, .accepted,
            reason: "a default that is spelled out decides nothing, and the issuer signed it"
        ) { draft, _ in
            draft.leaf.version = 0
        },
        PathRow(
            "RFC 5280 4.1.2.1 version 2 with extensions", valid: false, .accepted,
            reason: "OpenSSL reads them all the same, and each constrains"
        ) { draft, _ in draft.leaf.version = 1 },
        PathRow(
            "RFC 5280 4.1.2.1 version 4", valid: false, .accepted,
            reason: "OpenSSL takes a later version for version 3"
        ) { draft, _ in draft.leaf.version = 3 },
    ]

    /// The intermediate has a key of the command's making, and signs the leaf with it.
    private static func key(
        _ name: String, valid isValid: Bool, _ verdict: PathVerdict, _ arguments: [String],
        _ algorithm: PathAlgorithm, reason: String? = nil
    ) -> PathRow {
        PathRow(name, valid: isValid, verdict, reason: reason) { draft, _ in
            let key = try PathKey.make(["-algorithm"] + arguments)
            draft.issuer.info = try key.info()
            draft.leaf.signer = key
            draft.leaf.algorithm = algorithm
        }
    }

    private static func curve(_ name: String, _ encoding: String = "named_curve") -> [String] {
        ["EC", "-pkeyopt", "ec_paramgen_curve:\(name)", "-pkeyopt", "ec_param_enc:\(encoding)"]
    }

    private static let twoCurves = "Apple's keys are on P-256 and P-384, and other kinds cost more"

    static let encodings: [PathRow] = [
        key(
            "limbo webpki::forbidden-weak-rsa-key", valid: false, .key,
            ["RSA", "-pkeyopt", "rsa_keygen_bits:1024"], .rsaSHA256),
        key(
            "an intermediate with RSA of 2048 bits", valid: true, .key,
            ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"], .rsaSHA256, reason: twoCurves),
        key("limbo webpki::forbidden-p192", valid: false, .key, curve("prime192v1"), .ecdsaSHA256),
        key(
            "an intermediate on P-521", valid: true, .key, curve("secp521r1"), .ecdsaSHA256,
            reason: twoCurves),
        key("an intermediate on secp256k1", valid: false, .key, curve("secp256k1"), .ecdsaSHA256),
        key(
            "an intermediate with Ed25519", valid: true, .key, ["ED25519"], .ed25519,
            reason: twoCurves),
        key(
            "RFC 5480 2.1.1 P-256 with its parameters spelled out", valid: false, .key,
            curve("P-256", "explicit"), .ecdsaSHA256),
        PathRow(
            "PKITS 4.1.4 valid DSA signatures", valid: true, .key, reason: twoCurves
        ) { draft, _ in
            let parameters = try PathKey.openssl(["dsaparam", "-genkey", "-noout", "1024"])
            let key = try PathKey(pem: Array(parameters.utf8))
            draft.issuer.info = try key.info()
            draft.leaf.signer = key
            draft.leaf.algorithm = .dsaSHA256
        },
        PathRow(
            "a leaf on P-384", valid: true, .refused("its key is not on P-256"),
            receipt: .accepted, reason: "App Attest's keys are on P-256"
        ) { draft, _ in
            let key = PathKey.own(try .generate(.p384))
            draft.leaf.info = try key.info()
            draft.leafKey = key
        },
        signed("SHA-1 under the leaf", valid: false, .algorithm, .ecdsaSHA1),
        signed(
            "SHA-384 under the leaf", valid: true, .algorithm, .ecdsaSHA384,
            reason: "Apple signs leaves with SHA-256"),
        PathRow("SHA-1 under the intermediate", valid: false, .algorithm) { draft, _ in
            draft.issuer.algorithm = .ecdsaSHA1
        },
        PathRow("SHA-384 and SHA-512 above the leaf", valid: true, .accepted) { draft, _ in
            draft.issuer.algorithm = .ecdsaSHA384
            draft.root.algorithm = .ecdsaSHA512
        },
        rsaRoot("an RSA root of 2048 bits with SHA-256", valid: true, .accepted, 2048, .rsaSHA256),
        rsaRoot("an RSA root with SHA-1", valid: false, .algorithm, 2048, .rsaSHA1),
        rsaRoot("an RSA root with MD5", valid: false, .algorithm, 2048, .rsaMD5),
        rsaRoot(
            "limbo webpki::forbidden-weak-rsa-key-in-root", valid: false, .algorithm, 1024,
            .rsaSHA256),
        PathRow("a byte behind the leaf", valid: false, .malformed, receipt: .malformed) {
            draft, _ in draft.rewrite = { $0[0].append(0) }
        },
        PathRow(
            "X.690 10.1 a length in more bytes than it needs", valid: false, .malformed,
            receipt: .accepted, reason: anyLength
        ) {
            draft, _ in
            draft.rewrite = { $0[0] = [0x30, 0x83, 0x00] + $0[0].dropFirst(2) }
        },
        PathRow(
            "X.690 10.1 an indefinite length", valid: false, .malformed, receipt: .accepted,
            reason: anyLength
        ) { draft, _ in
            draft.rewrite = { $0[0] = [0x30, 0x80] + $0[0].dropFirst(4) + [0, 0] }
        },
        PathRow("X.690 11.1 a BOOLEAN of 01", valid: false, .malformed) { draft, _ in
            draft.issuer.extensions[0] = PathDER.standard(
                19, critical: true, [0x30, 0x03, 0x01, 0x01, 0x01])
        },
        PathRow("X.690 8.3.2 a serial number with a zero in front", valid: false, .malformed) {
            draft, _ in draft.leaf.serial = [0x00, 0x11]
        },
        PathRow("RFC 5280 4.1.2.5 a time without seconds", valid: false, .malformed) { draft, _ in
            draft.leaf.notBefore = RawCertificate.utcTime("2501010000Z")
        },
        PathRow("RFC 5280 4.1.2.5 a time with an offset", valid: false, .malformed) { draft, _ in
            draft.leaf.notBefore = RawCertificate.utcTime("250101000000+0100")
        },
    ]

    private static func signed(
        _ name: String, valid isValid: Bool, _ verdict: PathVerdict, _ algorithm: PathAlgorithm,
        reason: String? = nil
    ) -> PathRow {
        PathRow(name, valid: isValid, verdict, reason: reason) { draft, _ in
            draft.leaf.algorithm = algorithm
        }
    }

    private static func rsaRoot(
        _ name: String, valid isValid: Bool, _ verdict: PathVerdict, _ bits: Int,
        _ algorithm: PathAlgorithm
    ) -> PathRow {
        PathRow(name, valid: isValid, verdict) { draft, _ in
            let key = try PathKey.make(
                ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bits)"])
            draft.root.info = try key.info()
            draft.root.signer = key
            draft.root.algorithm = .rsaSHA256
            draft.issuer.signer = key
            draft.issuer.algorithm = algorithm
        }
    }
}
