import Crypto

/// A root and an intermediate like Apple's, made anew for each test.
struct Authority {
    static let start: Int64 = 1_700_000_000
    static let year: Int64 = 365 * 86_400
    static let noon = start + 43_200

    let rootKey: ECPrivateKey
    let root: Certificate
    let issuerKey: ECPrivateKey
    let issuer: Certificate

    init() throws {
        rootKey = try .generate(.p384)
        root = try Self.root(key: rootKey)
        issuerKey = try .generate(.p384)
        issuer = try Self.issuer(key: issuerKey, root: root, rootKey: rootKey)
    }

    static func root(
        key: ECPrivateKey, signingKey: ECPrivateKey? = nil, notAfter: Int64 = start + 20 * year
    ) throws -> Certificate {
        try CertificateBuilder(
            subject: ["CN": "Test Attestation Root CA", "O": "Test", "ST": "California"],
            key: .ec(key), notBefore: start - 5 * year, notAfter: notAfter,
            extensions: [
                .basicConstraints(isCA: true), .subjectKeyIdentifier(.ec(key)),
                .certificateSigning,
            ]
        ).certificate(issuer: .itself, signingKey: signingKey ?? key, digest: .sha384)
    }

    static func issuerExtensions(
        key: ECPrivateKey, rootKey: ECPrivateKey
    ) throws -> [CertificateExtension] {
        [
            .basicConstraints(isCA: true, pathLength: 0),
            try .authorityKeyIdentifier(.ec(rootKey)), try .subjectKeyIdentifier(.ec(key)),
            .certificateSigning,
        ]
    }

    static func issuer(
        key: ECPrivateKey, root: Certificate, rootKey: ECPrivateKey,
        extensions: [CertificateExtension]? = nil,
        validity: ClosedRange<Int64> = start - year...start + 10 * year,
        digest: CertificateBuilder.Digest = .sha384
    ) throws -> Certificate {
        try CertificateBuilder(
            subject: ["CN": "Test Attestation CA 1", "O": "Test", "ST": "California"],
            key: .ec(key), notBefore: validity.lowerBound, notAfter: validity.upperBound,
            extensions: extensions ?? issuerExtensions(key: key, rootKey: rootKey)
        ).certificate(issuer: .certificate(root), signingKey: rootKey, digest: digest)
    }

    static let leafExtensions: [CertificateExtension] = [
        .basicConstraints(isCA: false), .digitalSignature,
        CertificateExtension(
            oid: "1.2.840.113635.100.8.2", value: [0x30, 0x02, 0x04, 0x00]),
    ]

    static func leafBuilder(
        key: P256PublicKey, extensions: [CertificateExtension] = leafExtensions
    ) -> CertificateBuilder {
        CertificateBuilder(
            subject: ["CN": "0123abcd", "OU": "Test Certification", "O": "Test"],
            key: .p256(key), notBefore: start, notAfter: start + 3 * 86_400,
            extensions: extensions)
    }

    func leaf(
        extensions: [CertificateExtension] = leafExtensions, signingKey: ECPrivateKey? = nil,
        digest: CertificateBuilder.Digest = .sha256
    ) throws -> Certificate {
        let key = try P256PrivateKey.generate().publicKey
        return try Self.leafBuilder(key: key, extensions: extensions).certificate(
            issuer: .certificate(issuer), signingKey: signingKey ?? issuerKey, digest: digest)
    }
}
