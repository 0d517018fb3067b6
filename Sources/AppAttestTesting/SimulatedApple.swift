public import AttestationTesting
import Bytes
public import Crypto
public import JSON

/// A stand-in for Apple: a root and an intermediate that certify simulated devices' keys, and a
/// root and a signer for receipts.
///
/// A verifier that trusts ``root`` trusts every object that this simulator makes, so the root is
/// for tests and demonstrations only.
public final class SimulatedApple: Sendable {
    /// The stand-in for Apple App Attestation Root CA.
    public let root: Certificate
    /// The stand-in for Apple App Attestation CA 1.
    public let intermediate: Certificate
    /// The stand-in for Apple Root CA - G3.
    public let receiptRoot: Certificate
    let receiptIntermediate: Certificate

    let rootKey: ECPrivateKey
    let intermediateKey: ECPrivateKey
    let receiptRootKey: ECPrivateKey
    let receiptIntermediateKey: ECPrivateKey
    let receiptSignerKey: P256PrivateKey

    static let day: Int64 = 86400
    static let intermediateName: DistinguishedName = [
        "CN": "Simulated App Attestation CA 1", "O": "Simulated", "ST": "California",
    ]

    /// Makes all certificates anew. `seconds` since 1970 is the approximate time of use: the
    /// intermediates are valid from five years before to five years after, the roots for longer.
    public init(around seconds: Int64) throws(SimulationError) {
        rootKey = try SimulationError.wrap { () throws(CryptoError) in try .generate(.p384) }
        intermediateKey = try SimulationError.wrap { () throws(CryptoError) in try .generate(.p384)
        }
        receiptRootKey = try SimulationError.wrap { () throws(CryptoError) in try .generate(.p384) }
        receiptIntermediateKey = try SimulationError.wrap {
            () throws(CryptoError) in try .generate(.p256)
        }
        receiptSignerKey = try SimulationError.wrap { () throws(CryptoError) in try .generate() }
        root = try Self.root("Simulated App Attestation Root CA", rootKey, seconds)
        intermediate = try Self.intermediate(
            Self.intermediateName, intermediateKey, issuer: root, rootKey, seconds)
        receiptRoot = try Self.root("Simulated Root CA - G3", receiptRootKey, seconds)
        receiptIntermediate = try Self.intermediate(
            ["CN": "Simulated Application Integration CA 5 - G1", "O": "Simulated"],
            receiptIntermediateKey, issuer: receiptRoot, receiptRootKey, seconds)
    }

    static func root(
        _ name: String, _ key: ECPrivateKey, _ seconds: Int64
    ) throws(SimulationError) -> Certificate {
        try SimulationError.wrap { () throws(CryptoError) in
            try CertificateBuilder(
                subject: ["CN": name, "O": "Simulated", "ST": "California"], key: .ec(key),
                notBefore: max(0, seconds - 3650 * day), notAfter: seconds + 7300 * day,
                extensions: [
                    .basicConstraints(isCA: true), .subjectKeyIdentifier(.ec(key)),
                    .certificateSigning,
                ]
            ).certificate(issuer: .itself, signingKey: key, digest: .sha384)
        }
    }

    static func intermediate(
        _ name: DistinguishedName, _ key: ECPrivateKey, issuer: Certificate,
        _ issuerKey: ECPrivateKey, _ seconds: Int64
    ) throws(SimulationError) -> Certificate {
        try SimulationError.wrap { () throws(CryptoError) in
            try CertificateBuilder(
                subject: name, key: .ec(key), notBefore: max(0, seconds - 1826 * day),
                notAfter: seconds + 1826 * day,
                extensions: [
                    .basicConstraints(isCA: true, pathLength: 0),
                    .authorityKeyIdentifier(.ec(issuerKey)), .subjectKeyIdentifier(.ec(key)),
                    .certificateSigning,
                ]
            ).certificate(issuer: .certificate(issuer), signingKey: issuerKey, digest: .sha384)
        }
    }

    // MARK: saving

    /// The state to go on as the same Apple, including the private keys.
    public func state() throws(SimulationError) -> JSONValue {
        .object([
            "root": try StateReader.saved(root), "root_key": try StateReader.saved(rootKey),
            "intermediate": try StateReader.saved(intermediate),
            "intermediate_key": try StateReader.saved(intermediateKey),
            "receipt_root": try StateReader.saved(receiptRoot),
            "receipt_root_key": try StateReader.saved(receiptRootKey),
            "receipt_intermediate": try StateReader.saved(receiptIntermediate),
            "receipt_intermediate_key": try StateReader.saved(receiptIntermediateKey),
            "receipt_signer_key": try StateReader.saved(receiptSignerKey.key),
        ])
    }

    public init(state: JSONValue) throws(SimulationError) {
        let reader = StateReader(state)
        root = try reader.certificate("root")
        rootKey = try reader.key("root_key")
        intermediate = try reader.certificate("intermediate")
        intermediateKey = try reader.key("intermediate_key")
        receiptRoot = try reader.certificate("receipt_root")
        receiptRootKey = try reader.key("receipt_root_key")
        receiptIntermediate = try reader.certificate("receipt_intermediate")
        receiptIntermediateKey = try reader.key("receipt_intermediate_key")
        receiptSignerKey = try reader.p256Key("receipt_signer_key")
    }
}
