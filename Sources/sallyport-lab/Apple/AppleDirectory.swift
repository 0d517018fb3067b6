import AppAttest
import AppAttestTesting
import Bytes
import Crypto
import EventLoop
import JSON
import TLS

/// The files of a stand-in for Apple's services. Missing ones are made and existing ones kept, so
/// that it can be started again as the same one.
struct AppleDirectory {
    let apple: SimulatedApple
    /// The secret that device tokens are sealed with.
    let secret: [UInt8]
    private let path: String

    private static let year: Int64 = 365 * 86400

    init(_ path: String) throws {
        self.path = path
        let state = path + "/apple.json"
        if File.exists(state) {
            apple = try LabFile.apple(state)
        } else {
            apple = try SimulatedApple(around: WallClock.now().seconds)
            try LabFile.writeJSON(state, try apple.state())
        }
        let secretPath = path + "/device-token.secret"
        if !File.exists(secretPath) { try LabFile.write(secretPath, RandomBytes.bytes(32)) }
        secret = try LabFile.read(secretPath)
        try LabFile.write(path + "/root.pem", try apple.root.pem())
        try LabFile.write(path + "/receipt-root.pem", try apple.receiptRoot.pem())
    }

    func signInKey(teamID: String, keyID: String) throws -> SignInKey {
        let path = keyPath(keyID)
        if !File.exists(path) { try LabFile.write(path, try P256PrivateKey.generate().pem()) }
        let key = try P256PrivateKey(pem: try LabFile.read(path))
        return SignInKey(teamID: teamID, keyID: keyID, publicKey: key.publicKey)
    }

    private func keyPath(_ keyID: String) -> String { "\(path)/AuthKey_\(keyID).p8" }

    /// A certificate for this machine, by the authority in `tls-ca.pem`.
    func tlsIdentity() throws -> TLSIdentity {
        let keyPath = path + "/tls-ca.key"
        if !File.exists(keyPath) { try LabFile.write(keyPath, try P256PrivateKey.generate().pem()) }
        let authorityKey = try P256PrivateKey(pem: try LabFile.read(keyPath)).key
        let now = WallClock.now().seconds
        let authority = try CertificateBuilder(
            subject: ["CN": "Simulated TLS CA"], key: .ec(authorityKey), notBefore: now - Self.year,
            notAfter: now + 10 * Self.year,
            extensions: [.basicConstraints(isCA: true), .certificateSigning]
        ).certificate(issuer: .itself, signingKey: authorityKey)
        try LabFile.write(path + "/tls-ca.pem", try authority.pem())
        let key = try P256PrivateKey.generate()
        let certificate = try CertificateBuilder(
            subject: ["CN": "localhost"], key: .p256(key.publicKey), notBefore: now - 86400,
            notAfter: now + Self.year,
            extensions: [
                .basicConstraints(isCA: false), .digitalSignature, Self.subjectNames,
            ]
        ).certificate(issuer: .certificate(authority), signingKey: authorityKey)
        return try TLSIdentity(certificatePEM: try certificate.pem(), keyPEM: try key.pem())
    }

    /// The names localhost and 127.0.0.1 (RFC 5280 section 4.2.1.6).
    private static let subjectNames: CertificateExtension = {
        let name: [UInt8] = [0x82, 9] + Array("localhost".utf8)
        let address: [UInt8] = [0x87, 4, 127, 0, 0, 1]
        let contents = name + address
        return CertificateExtension(
            oid: "2.5.29.17", value: [0x30, UInt8(contents.count)] + contents)
    }()

    /// Writes the section of a configuration that makes a gateway ask this stand-in.
    func writeSettings(
        keys: [SignInKey], production: UInt16, development: UInt16,
        authorization: AppleStandIn.Authorization
    ) throws {
        var lines = ["apple:", "  keys:"]
        for key in keys {
            lines += [
                "    - key_id: \(key.keyID)", "      team_id: \(key.teamID)",
                "      file: \(keyPath(key.keyID))",
            ]
        }
        let hosts =
            "{ production: \"https://127.0.0.1:\(production)\", "
            + "development: \"https://127.0.0.1:\(development)\" }"
        lines += [
            "  authorization: \(authorization == .bearer ? "bearer" : "bare")",
            "  proxy: off", "  ca: \(path)/tls-ca.pem", "  hosts:",
            "    attestation_data: \(hosts)", "    device_check: \(hosts)",
        ]
        try LabFile.write(
            path + "/apple.yaml", Array((lines.joined(separator: "\n") + "\n").utf8))
    }
}
