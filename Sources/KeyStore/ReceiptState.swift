public import Attestation
import Bytes

/// The outcome of the last attempt to renew a receipt.
public enum RenewalOutcome: String, CaseIterable, Sendable {
    /// Apple gave a new receipt, which was verified.
    case renewed
    /// 304: there is no newer receipt yet.
    case tooEarly = "too_early"
    /// 400 `Incorrect Environment`: not tried again.
    case wrongEnvironment = "wrong_environment"
    /// 400 `Bad Payload`: not tried again.
    case badPayload = "bad_payload"
    /// 401: Apple does not accept our token. This says nothing about the receipt.
    case unauthorized
    /// 404: the receipt is older than 30 days, or Apple does not know it.
    case notFound = "not_found"
    /// 429.
    case throttled
    /// 5xx.
    case serverError = "server_error"
    /// There was no answer, or one that was cut off.
    case unreachable
    /// An answer of an unknown kind.
    case unexpected
    /// Apple's receipt does not verify, or belongs to another key; it is not kept.
    case receiptInvalid = "receipt_invalid"
    /// 404, and the receipt has expired: not tried again.
    case expired

    /// The code that stores keep. It never changes its meaning.
    public var code: Int64 {
        switch self {
        case .renewed: 0
        case .tooEarly: 1
        case .wrongEnvironment: 2
        case .badPayload: 3
        case .unauthorized: 4
        case .notFound: 5
        case .throttled: 6
        case .serverError: 7
        case .unreachable: 8
        case .unexpected: 9
        case .receiptInvalid: 10
        case .expired: 11
        }
    }

    private static let byCode = Dictionary(uniqueKeysWithValues: allCases.map { ($0.code, $0) })

    /// The outcome with this code. Nil for an unknown one, such as one of a later version.
    public init?(code: Int64) {
        guard let outcome = Self.byCode[code] else { return nil }
        self = outcome
    }
}

/// The facts that are known about a key's receipt without reading it, and the state of its renewal.
/// All times are seconds since 1970.
public struct ReceiptState: Hashable, Sendable {
    /// The kind of the receipt, or nil if the receipt has not been read yet: it came with an
    /// import, or from a version that kept only receipts.
    public var kind: ReceiptKind?
    public var createdAt: Int64?
    /// Apple gives no newer receipt before this time.
    public var notBefore: Int64?
    public var expiresAt: Int64?
    /// The time at which to send the receipt to Apple, or nil if it is no longer sent.
    public var dueAt: Int64?
    public var lastOutcome: RenewalOutcome?
    public var attemptedAt: Int64?
    /// The number of attempts in a row that brought nothing.
    public var failureCount: UInt32

    public init(
        kind: ReceiptKind? = nil, createdAt: Int64? = nil, notBefore: Int64? = nil,
        expiresAt: Int64? = nil, dueAt: Int64?, lastOutcome: RenewalOutcome? = nil,
        attemptedAt: Int64? = nil, failureCount: UInt32 = 0
    ) {
        self.kind = kind
        self.createdAt = createdAt
        self.notBefore = notBefore
        self.expiresAt = expiresAt
        self.dueAt = dueAt
        self.lastOutcome = lastOutcome
        self.attemptedAt = attemptedAt
        self.failureCount = failureCount
    }

    /// The state of a receipt that was verified and has not been sent yet.
    public init(_ receipt: ReceiptDates, dueAt: Int64?) {
        self.init(
            kind: receipt.kind, createdAt: receipt.createdAt, notBefore: receipt.notBefore,
            expiresAt: receipt.expiresAt, dueAt: dueAt)
    }
}
