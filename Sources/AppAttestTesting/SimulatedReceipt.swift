public import AppAttest
public import Attestation
public import AttestationTesting
import Bytes
import Crypto
import DER

/// The contents of a simulated receipt; see ``ReceiptFields``.
public struct SimulatedReceipt: Hashable, Sendable {
    public var kind: ReceiptFields.Kind
    public var appID: String
    /// A certificate in DER, the form that Apple uses, or the 65 bytes of a point.
    public var attestedKey: [UInt8]
    public var clientHash: [UInt8]
    public var environment: AttestEnvironment
    /// Seconds since 1970.
    public var createdAt: Int64
    public var riskMetric: UInt32?
    /// The token that names the key to Apple's server; nil for one made from ``attestedKey``.
    public var token: [UInt8]?
    /// Seconds from the receipt's creation to its *not before*, for `RECEIPT` only. Apple's is a
    /// day.
    public var notBeforeSeconds: Int64 = 86400
    /// Seconds from the receipt's creation to its end. Apple's is 90 days.
    public var lifeSeconds: Int64 = 90 * 86400
    /// More fields by type. The meaning of 7 and above was never published in full.
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

    /// The set of fields, in no particular order, like Apple's.
    package var content: [UInt8] {
        func field(_ type: UInt8, _ value: [UInt8]) -> [UInt8] {
            DERWriter.sequence([
                DERWriter.integer(type), DERWriter.integer(1), DERWriter.octetString(value),
            ])
        }
        func field(_ type: UInt8, _ text: String) -> [UInt8] { field(type, Array(text.utf8)) }
        func time(_ seconds: Int64) -> String {
            Timestamp(seconds: createdAt + seconds, milliseconds: 120).text
        }
        let token = token ?? Array(Base64.encode(SHA256.hash(attestedKey).array).utf8)
        var fields = [
            field(6, kind.rawValue), field(2, appID), field(3, attestedKey), field(4, clientHash),
            field(5, token),
            field(7, environment == .production ? "production" : "sandbox"),
            field(12, time(0)), field(21, time(lifeSeconds)),
        ]
        if kind == .receipt {
            fields.append(field(19, time(notBeforeSeconds)))
        }
        if let riskMetric { fields.append(field(17, "\(riskMetric)")) }
        for (type, value) in otherFields.sorted(by: { $0.key < $1.key }) {
            fields.append(field(type, value))
        }
        return DERWriter.set(fields)
    }
}

extension SimulatedApple {
    private static let signerMark = CertificateExtension(
        oid: "1.2.840.113635.100.12.15", value: [0x05, 0x00])

    /// Signs a receipt as Apple does: CMS in BER, the content in pieces of 1000 bytes. Only signers
    /// of receipts have the mark of such signers.
    public func receipt(
        _ receipt: SimulatedReceipt, isSignerMarked: Bool = true
    ) throws(SimulationError) -> [UInt8] {
        try SimulationError.wrap { () throws(CryptoError) in
            // Signers live about a year, so that the receipts of a year ago have another one.
            let signer = try CertificateBuilder(
                subject: ["CN": "Simulated Application Attestation Fraud Receipt Signing"],
                key: .p256(receiptSignerKey.publicKey),
                notBefore: receipt.createdAt - 30 * Self.day,
                notAfter: receipt.createdAt + 365 * Self.day,
                extensions: [.basicConstraints(isCA: false), .digitalSignature]
                    + (isSignerMarked ? [Self.signerMark] : [])
            ).certificate(
                issuer: .certificate(receiptIntermediate), signingKey: receiptIntermediateKey)
            return try SignedData.sign(
                receipt.content, signer: signer, key: receiptSignerKey.key,
                certificates: [receiptIntermediate, receiptRoot])
        }
    }
}
