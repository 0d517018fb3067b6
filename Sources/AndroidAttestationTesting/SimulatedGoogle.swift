public import AndroidAttestation
public import AttestationTesting
import Bytes
import Crypto
public import JSON

/// A stand-in for Google and the makers of phones: a root, and below it the issuers of factory keys
/// and of remotely provisioned ones.
///
/// A verifier that trusts ``root`` trusts every attestation that this simulator makes, so the root
/// is for tests and demonstrations only.
public final class SimulatedGoogle: Sendable {
    /// The root, as a verifier trusts it.
    public let root: AndroidRoot
    /// The root's certificate in PEM.
    public let rootPEM: [UInt8]

    let rootKey: ECPrivateKey
    let intermediateKey: ECPrivateKey
    let serverKey: ECPrivateKey
    /// The key that vouches for others, in the TEE and in the StrongBox of every phone.
    let attestationKeys: [ECPrivateKey]
    /// The serial numbers of the certificates of `attestationKeys`.
    let attestationSerials: [[UInt8]]
    let rootDER: [UInt8]

    static let day: Int64 = 86_400

    /// Makes all keys anew. `seconds` since 1970 is the approximate time of use: the root is valid
    /// from five years before to ten years after.
    public init(around seconds: Int64) throws(SimulationError) {
        rootKey = try Self.key(.p384)
        intermediateKey = try Self.key(.p384)
        serverKey = try Self.key(.p256)
        attestationKeys = [try Self.key(.p256), try Self.key(.p256)]
        attestationSerials = [Self.serial(), Self.serial()]
        let info = try Self.keyInfo(.ec(rootKey))
        let writer = CertificateWriter(
            serial: Self.serial(), issuer: Self.rootName, subject: Self.rootName,
            notBefore: max(0, seconds - 1826 * Self.day), notAfter: seconds + 3652 * Self.day,
            keyInfo: info, extensions: Self.issuerExtensions(isCA: true),
            signing: .ecdsa(.sha384))
        let der = try writer.der(signedBy: rootKey)
        let made = try SimulationError.wrap { () throws(CryptoError) in
            let certificate = try Certificate(der: der)
            return (try AndroidRoot(certificate), try certificate.pem())
        }
        rootDER = der
        (root, rootPEM) = made
    }

    // MARK: saving

    /// The state to go on as the same Google, including the private keys.
    public func state() throws(SimulationError) -> JSONValue {
        var keys: [JSONValue] = []
        for key in attestationKeys { keys.append(try StateReader.saved(key)) }
        return .object([
            "root": .string(String(decoding: rootPEM, as: UTF8.self)),
            "root_key": try StateReader.saved(rootKey),
            "intermediate_key": try StateReader.saved(intermediateKey),
            "server_key": try StateReader.saved(serverKey), "attestation_keys": .array(keys),
            "attestation_serials": .array(
                attestationSerials.map { .string(Hex.encode($0)) }),
        ])
    }

    public init(state: JSONValue) throws(SimulationError) {
        let reader = StateReader(state)
        rootKey = try reader.key("root_key")
        intermediateKey = try reader.key("intermediate_key")
        serverKey = try reader.key("server_key")
        attestationKeys = try reader.list("attestation_keys") { value in
            value.stringValue.flatMap { StateReader.key($0) }
        }
        attestationSerials = try reader.list("attestation_serials") { value in
            value.stringValue.flatMap { Hex.decode($0) }
        }
        // One of a TEE and one of a StrongBox.
        guard attestationKeys.count == 2 else { throw .state("attestation_keys") }
        guard attestationSerials.count == 2 else { throw .state("attestation_serials") }
        let certificate = try reader.certificate("root")
        rootDER = certificate.der
        rootPEM = Array(try reader.text("root").utf8)
        root = try SimulationError.wrap { () throws(CryptoError) in
            try AndroidRoot(certificate)
        }
    }

    // MARK: withdrawn certificates

    /// A list of withdrawn certificates as Google publishes it. It names the one above the leaf of
    /// every phone whose keys are in `level`.
    public func revocationList(withdrawing level: AndroidSecurityLevel) -> [UInt8] {
        let serial = attestationSerials[level == .strongBox ? 1 : 0]
        let entry = #"{"status":"REVOKED","reason":"KEY_COMPROMISE"}"#
        return Array(#"{"entries":{"\#(Hex.encode(serial))":\#(entry)}}"#.utf8)
    }

    // MARK: names

    static let rootName = CertificateWriter.name([
        (TestIdentifiers.commonName, "Simulated Key Attestation CA1"),
        (TestIdentifiers.organization, "Simulated"),
    ])
    static let serverName = CertificateWriter.name([
        (TestIdentifiers.commonName, "Simulated CA3"),
        (TestIdentifiers.organization, "Google LLC"),
    ])

    /// The name of the certificate below the root.
    static func intermediateName(_ profile: PhoneProfile) -> [UInt8] {
        guard profile.provisioning == .factory else {
            return CertificateWriter.name([
                (TestIdentifiers.commonName, "Simulated CA2"),
                (TestIdentifiers.organization, "Google LLC"),
            ])
        }
        return CertificateWriter.name([
            (TestIdentifiers.title, levelName(profile)),
            (TestIdentifiers.serialNumber, "c6047571d8f0d17c"),
        ])
    }

    /// The name of the certificate above the leaf, which names the place of its key.
    static func attestationName(_ profile: PhoneProfile) -> [UInt8] {
        let (type, number): ([UInt8], [UInt8]) =
            profile.provisioning == .factory
            ? (TestIdentifiers.title, TestIdentifiers.serialNumber)
            : (TestIdentifiers.organization, TestIdentifiers.commonName)
        return CertificateWriter.name([
            (type, levelName(profile)), (number, "90e8da3cadfc7820"),
        ])
    }

    private static func levelName(_ profile: PhoneProfile) -> String {
        profile.securityLevel == .strongBox ? "StrongBox" : "TEE"
    }

    // MARK: parts

    static func key(_ curve: ECPrivateKey.Curve) throws(SimulationError) -> ECPrivateKey {
        try SimulationError.wrap { () throws(CryptoError) in try .generate(curve) }
    }

    static func keyInfo(_ key: SubjectKey) throws(SimulationError) -> [UInt8] {
        try SimulationError.wrap { () throws(CryptoError) in try key.publicKeyInfo() }
    }

    /// A positive serial number of eight bytes.
    static func serial() -> [UInt8] { [0x5A] + RandomBytes.bytes(7) }

    static func issuerExtensions(isCA: Bool) -> [CertificateWriter.Extension] {
        let constraints: [UInt8] = isCA ? [0x30, 0x03, 0x01, 0x01, 0xFF] : [0x30, 0x00]
        return [
            CertificateWriter.Extension(
                oid: TestIdentifiers.basicConstraints, criticality: .critical, value: constraints),
            CertificateWriter.Extension(
                oid: TestIdentifiers.keyUsage, criticality: .critical,
                value: [0x03, 0x02, 0x02, 0x04]),
        ]
    }
}
