public import Attestation
public import Bytes
public import Crypto
import DER

/// The fields of a receipt: `SET OF SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING
/// }`.
///
/// The values are bare bytes, the set is in no order, and unknown types are skipped (7 was one; 20
/// and more may come). Believe the fields only as part of a ``VerifiedReceipt``.
public struct ReceiptFields: Hashable, Sendable {
    public typealias Kind = ReceiptKind

    /// Field 2: the App ID.
    public let appID: String
    /// Field 3: the attested key, of which Apple sends the whole leaf certificate.
    public let publicKey: P256PublicKey
    /// Field 4: the client data hash of the attestation. Apple corrupts it in refreshed receipts
    /// (54 bytes of U+FFFD), so nothing may depend on it.
    public let clientHash: [UInt8]?
    /// Field 5: the token that names the key to Apple's server.
    public let token: [UInt8]?
    /// Field 6: `ATTEST` inside an attestation, `RECEIPT` from Apple's server.
    public let kind: ReceiptKind
    /// Field 7, `production` or `sandbox`.
    public let environment: AttestEnvironment?
    /// Field 12: the time of creation.
    public let createdAt: Timestamp
    /// Field 17: roughly how many keys the app attested on this device in 30 days; in `RECEIPT`
    /// only.
    public let riskMetric: UInt32?
    /// Field 19: Apple's server gives no newer receipt before this time.
    public let notBefore: Timestamp?
    /// Field 21: the time of expiry.
    public let expiresAt: Timestamp?
    /// The types of all fields in their order, including skipped ones.
    public let fieldTypes: [UInt64]

    /// The kind and the times, without the rest.
    public var dates: ReceiptDates {
        ReceiptDates(
            kind: kind, createdAt: createdAt.seconds, notBefore: notBefore?.seconds,
            expiresAt: expiresAt?.seconds)
    }

    /// The most fields. Real receipts have 8 to 11.
    public static let fieldCountMax = 64

    /// Reads the signed content of a receipt.
    public init(content: Span<UInt8>) throws(ReceiptFailure) {
        let values = try Self.values(in: content)
        fieldTypes = values.map(\.type)
        func value(_ type: UInt64) -> [UInt8]? { values.first { $0.type == type }?.value }
        func time(_ type: UInt64) throws(ReceiptFailure) -> Timestamp? {
            guard let bytes = value(type) else { return nil }
            guard let time = RFC3339.parse(bytes.span) else { throw .field(type) }
            return time
        }
        guard let appID = value(2).flatMap({ String(validating: $0, as: UTF8.self) }) else {
            throw .field(2)
        }
        guard let publicKey = value(3).flatMap({ Self.publicKey(in: $0) }) else {
            throw .field(3)
        }
        guard
            let kind = value(6).flatMap({
                ReceiptKind(rawValue: String(decoding: $0, as: UTF8.self))
            })
        else { throw .field(6) }
        guard let createdAt = try time(12) else { throw .field(12) }
        self.appID = appID
        self.publicKey = publicKey
        self.kind = kind
        self.createdAt = createdAt
        clientHash = value(4)
        token = value(5)
        environment = try value(7).map(Self.environment)
        riskMetric = try value(17).map(Self.riskMetric)
        notBefore = try time(19)
        expiresAt = try time(21)
    }

    /// The time at which the receipt says it was made. It is the only field that is needed before
    /// the signature is verified.
    static func creationSeconds(in content: Span<UInt8>) throws(ReceiptFailure) -> Int64 {
        guard let bytes = try values(in: content).first(where: { $0.type == 12 })?.value,
            let time = RFC3339.parse(bytes.span)
        else { throw .field(12) }
        return time.seconds
    }

    private typealias Field = (type: UInt64, value: [UInt8])

    private static func values(in content: Span<UInt8>) throws(ReceiptFailure) -> [Field] {
        var outer = DERReader(content)
        guard let set = outer.read(.set), outer.isAtEnd else {
            throw .malformed("the content is not a set of fields")
        }
        var fields: [Field] = []
        var elements = DERReader(set)
        while !elements.isAtEnd {
            guard fields.count < fieldCountMax else { throw .malformed("too many fields") }
            guard let sequence = elements.read(.sequence), let field = field(in: sequence) else {
                throw .malformed("field number \(fields.count + 1) is malformed")
            }
            guard !fields.contains(where: { $0.type == field.type }) else {
                throw .malformed("two fields of type \(field.type)")
            }
            fields.append(field)
        }
        return fields
    }

    private static func field(in sequence: Span<UInt8>) -> Field? {
        var elements = DERReader(sequence)
        guard let typeBytes = elements.read(.integer), let type = unsigned(typeBytes),
            let version = elements.read(.integer), unsigned(version) != nil,
            let value = elements.read(.octetString), elements.isAtEnd
        else { return nil }
        return (type, value.array)
    }

    /// A non-negative DER integer of at most eight bytes; nil for anything else.
    private static func unsigned(_ bytes: Span<UInt8>) -> UInt64? {
        guard bytes.count >= 1, bytes.count <= 8, bytes[0] < 0x80 else { return nil }
        guard bytes.count == 1 || bytes[0] > 0 || bytes[1] >= 0x80 else { return nil }
        var value: UInt64 = 0
        for index in bytes.indices { value = value << 8 | UInt64(bytes[index]) }
        return value
    }

    private static func publicKey(in value: [UInt8]) -> P256PublicKey? {
        if let key = P256PublicKey(x963: value.span) { return key }
        guard let certificate = try? Certificate(der: value) else { return nil }
        return certificate.publicKey
    }

    private static func environment(
        _ value: [UInt8]
    ) throws(ReceiptFailure) -> AttestEnvironment {
        switch String(decoding: value, as: UTF8.self) {
        case "production": return .production
        case "sandbox": return .development
        default: throw .field(7)
        }
    }

    private static func riskMetric(_ value: [UInt8]) throws(ReceiptFailure) -> UInt32 {
        guard let number = ASCII.decimal(value.span), let metric = UInt32(exactly: number) else {
            throw .field(17)
        }
        return metric
    }
}

extension ReceiptFailure {
    fileprivate static func field(_ type: UInt64) -> ReceiptFailure {
        .malformed("field \(type) is missing or malformed")
    }
}
