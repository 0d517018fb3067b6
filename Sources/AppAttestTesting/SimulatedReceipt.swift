public import AppAttest
import Bytes
import Crypto

/// What a simulated receipt says; see ``ReceiptFields``.
public struct SimulatedReceipt: Hashable, Sendable {
    public var kind: ReceiptFields.Kind
    public var appID: String
    /// A certificate in DER, as Apple writes it, or the 65 bytes of a point.
    public var attestedKey: [UInt8]
    public var clientHash: [UInt8]
    public var environment: AttestEnvironment
    /// Seconds since 1970.
    public var createdAt: Int64
    public var riskMetric: UInt32?
    /// More fields, by type: the meaning of 7 and above was never published in full.
    public var otherFields: [UInt8: [UInt8]] = [:]

    public init(
        kind: ReceiptFields.Kind, appID: String, attestedKey: [UInt8], clientHash: [UInt8],
        environment: AttestEnvironment, createdAt: Int64, riskMetric: UInt32? = nil
    ) {
        self.kind = kind
        self.appID = appID
        self.attestedKey = attestedKey
        self.clientHash = clientHash
        self.environment = environment
        self.createdAt = createdAt
        self.riskMetric = riskMetric
    }

    /// The set of fields, in no particular order, as Apple's are.
    var content: [UInt8] {
        func field(_ type: UInt8, _ value: [UInt8]) -> [UInt8] {
            DERWriter.sequence([
                DERWriter.integer(type), DERWriter.integer(1), DERWriter.octetString(value),
            ])
        }
        func field(_ type: UInt8, _ text: String) -> [UInt8] { field(type, Array(text.utf8)) }
        let day = SimulatedApple.day
        var fields = [
            field(6, kind.rawValue), field(2, appID), field(3, attestedKey), field(4, clientHash),
            field(5, Base64.encode(SHA256.hash(attestedKey).array)),
            field(7, environment == .production ? "production" : "sandbox"),
            field(12, Timestamp(seconds: createdAt, milliseconds: 120).text),
            field(21, Timestamp(seconds: createdAt + 90 * day, milliseconds: 120).text),
        ]
        if kind == .receipt {
            fields.append(field(19, Timestamp(seconds: createdAt + day, milliseconds: 120).text))
        }
        if let riskMetric { fields.append(field(17, "\(riskMetric)")) }
        for (type, value) in otherFields.sorted(by: { $0.key < $1.key }) {
            fields.append(field(type, value))
        }
        return DERWriter.set(fields)
    }
}

extension SimulatedApple {
    /// Signs a receipt as Apple does: CMS in BER, the content in pieces of 1000 bytes.
    public func receipt(_ receipt: SimulatedReceipt) throws(SimulationError) -> [UInt8] {
        try SimulationError.wrap { () throws(CryptoError) in
            // Signers live about a year, so that the receipts of a year ago have another.
            let signer = try CertificateBuilder(
                subject: ["CN": "Simulated Application Attestation Fraud Receipt Signing"],
                key: .p256(receiptSignerKey.publicKey),
                notBefore: receipt.createdAt - 30 * Self.day,
                notAfter: receipt.createdAt + 365 * Self.day,
                extensions: [.basicConstraints(isCA: false), .digitalSignature]
            ).certificate(
                issuer: .certificate(receiptIntermediate), signingKey: receiptIntermediateKey)
            return try SignedData.sign(
                receipt.content, signer: signer, key: receiptSignerKey.key,
                certificates: [receiptIntermediate, receiptRoot])
        }
    }
}
