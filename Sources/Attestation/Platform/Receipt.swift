/// Evidence that comes with an enrolment and is renewed from time to time, verified.
public struct Receipt: Hashable, Sendable {
    /// The receipt as it came.
    public let bytes: [UInt8]
    public let dates: ReceiptDates

    public init(bytes: [UInt8], dates: ReceiptDates) {
        self.bytes = bytes
        self.dates = dates
    }
}

/// The origin of a receipt.
public enum ReceiptKind: String, Sendable {
    /// The receipt came with the enrolment. It is to be exchanged once.
    case attest = "ATTEST"
    /// The receipt came from the platform's server.
    case receipt = "RECEIPT"
}

/// The kind of a receipt and its times in seconds since 1970.
public struct ReceiptDates: Hashable, Sendable {
    public let kind: ReceiptKind
    public let createdAt: Int64
    /// No newer receipt is given before this time.
    public let notBefore: Int64?
    public let expiresAt: Int64?

    public init(kind: ReceiptKind, createdAt: Int64, notBefore: Int64?, expiresAt: Int64?) {
        self.kind = kind
        self.createdAt = createdAt
        self.notBefore = notBefore
        self.expiresAt = expiresAt
    }
}
