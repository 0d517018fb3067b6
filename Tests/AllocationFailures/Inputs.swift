import Crypto
import Foundation
import GatewayTesting
import TLS

/// What the operations work on, made with enough memory.
struct Inputs {
    static let start: Int64 = 1_700_000_000
    static let noon = start + 43_200
    private static let year: Int64 = 365 * 86_400

    let directory: ScratchDirectory
    let rootKey: ECPrivateKey
    let root: Certificate
    let issuerKey: ECPrivateKey
    let issuer: Certificate
    let leafKey: P256PrivateKey
    let leaf: Certificate
    /// Named like ``root``, with another key.
    let strangeRoot: Certificate

    /// For TLS: an authority, what it vouches for, and a stranger.
    let authority: TestCertificate
    let server: TestCertificate
    let wild: TestCertificate
    let client: TestCertificate
    let revoked: TestCertificate
    let stranger: TestCertificate
    let revocationsPEM: [UInt8]

    init() throws {
        // Databases wait for the disk otherwise.
        directory = try ScratchDirectory(inMemory: true)
        rootKey = try .generate(.p384)
        root = try Self.authority("Root", rootKey, issuer: nil, signingKey: rootKey)
        issuerKey = try .generate(.p384)
        issuer = try Self.authority("Issuer", issuerKey, issuer: root, signingKey: rootKey)
        leafKey = try .generate()
        leaf = try Self.leafBuilder(leafKey).certificate(
            issuer: .certificate(issuer), signingKey: issuerKey)
        let strangeKey = try ECPrivateKey.generate(.p384)
        strangeRoot = try Self.authority("Root", strangeKey, issuer: nil, signingKey: strangeKey)

        authority = try .authority(in: directory)
        server = try TestCertificate(
            in: directory, "server", names: ["a.example"], issuer: authority)
        wild = try TestCertificate(
            in: directory, "wild", names: ["*.b.example"], issuer: authority)
        client = try TestCertificate(in: directory, "client", issuer: authority)
        revoked = try TestCertificate(in: directory, "revoked", issuer: authority)
        stranger = try TestCertificate(in: directory, "stranger", names: ["a.example"])
        let revocations = try TestRevocations(of: authority)
        try revocations.revoke(revoked)
        let path = directory.path(of: "crl.pem")
        try revocations.write(to: path)
        revocationsPEM = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    }

    private static func authority(
        _ name: String, _ key: ECPrivateKey, issuer: Certificate?, signingKey: ECPrivateKey
    ) throws -> Certificate {
        try CertificateBuilder(
            subject: ["CN": name, "O": "Test"], key: .ec(key), notBefore: start - year,
            notAfter: start + 20 * year,
            extensions: [
                .basicConstraints(isCA: true), .subjectKeyIdentifier(.ec(key)),
                .certificateSigning,
            ]
        ).certificate(
            issuer: issuer.map { .certificate($0) } ?? .itself, signingKey: signingKey,
            digest: .sha384)
    }

    static func leafBuilder(_ key: P256PrivateKey) -> CertificateBuilder {
        CertificateBuilder(
            subject: ["CN": "0123abcd", "O": "Test"], key: .p256(key.publicKey), notBefore: start,
            notAfter: start + year, extensions: [.basicConstraints(isCA: false), .digitalSignature])
    }
}
