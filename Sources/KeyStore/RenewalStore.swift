public import Attestation
public import Crypto

/// Receipts about which Apple is asked at one host, in the name of one app.
public struct ReceiptGroup: Hashable, Sendable {
    public let appID: String
    public let environment: AttestEnvironment

    public init(appID: String, environment: AttestEnvironment) {
        self.appID = appID
        self.environment = environment
    }

    /// The team id, as in ``AppIdentity``.
    public var teamID: String { String(appID.prefix { $0 != "." }) }
}

/// A query for receipts of one group that are due.
public struct DueReceiptQuery: Hashable, Sendable {
    public var group: ReceiptGroup
    /// The time by which they are due, in seconds since 1970.
    public var dueBy: Int64
    public var countMax: Int

    public init(group: ReceiptGroup, dueBy: Int64, countMax: Int) {
        self.group = group
        self.dueBy = dueBy
        self.countMax = countMax
    }
}

/// A receipt of an active key that is due, with the facts needed to judge the answer.
public struct DueReceipt: Hashable, Sendable {
    public let keyID: KeyID
    public let publicKey: P256PublicKey
    public let group: ReceiptGroup
    public let receipt: [UInt8]
    public let state: ReceiptState
    /// The time at which the receipt was due. A write names it, so that only one of two writes
    /// counts.
    public let dueAt: Int64
    public let riskMetric: UInt32?

    public init(
        keyID: KeyID, publicKey: P256PublicKey, group: ReceiptGroup, receipt: [UInt8],
        state: ReceiptState, dueAt: Int64, riskMetric: UInt32?
    ) {
        self.keyID = keyID
        self.publicKey = publicKey
        self.group = group
        self.receipt = receipt
        self.state = state
        self.dueAt = dueAt
        self.riskMetric = riskMetric
    }
}

/// The backlog of the renewal.
public struct ReceiptBacklog: Hashable, Sendable {
    /// The number of receipts that are due, up to ``countMax``.
    public var dueCount: Int
    /// The time at which the first of all receipts is, or was, due.
    public var firstDueAt: Int64?

    /// The number up to which receipts are counted. Counting more would take as long as renewing
    /// some.
    public static let countMax = 100_000

    public init(dueCount: Int = 0, firstDueAt: Int64? = nil) {
        self.dueCount = dueCount
        self.firstDueAt = firstDueAt
    }
}

/// A change that a renewal makes to a key.
public struct RenewalWrite: Hashable, Sendable {
    public var keyID: KeyID
    /// The due time as it was read. If it has changed (another gateway has renewed the receipt, or
    /// the key was revoked or erased), nothing is written.
    public var dueAt: Int64
    /// The new receipt, or nil to keep the old one.
    public var receipt: [UInt8]?
    /// The new risk metric, or nil to keep the old one.
    public var riskMetric: UInt32?
    /// True if the metric differs from the one that was read, so that caches must hear of it.
    public var isNews: Bool
    public var state: ReceiptState

    public init(
        keyID: KeyID, dueAt: Int64, receipt: [UInt8]? = nil, riskMetric: UInt32? = nil,
        isNews: Bool = false, state: ReceiptState
    ) {
        self.keyID = keyID
        self.dueAt = dueAt
        self.receipt = receipt
        self.riskMetric = riskMetric
        self.isNews = isNews
        self.state = state
    }
}

/// Renewals of the holder of a lease, to be written only while it holds the lease.
public struct FencedRenewals: Hashable, Sendable {
    /// The name of the lease in ``SharedState``.
    public var lease: String
    /// The term of the lease. If the lease has another term by now, nothing is written.
    public var term: Int64
    public var writes: [RenewalWrite]

    public init(lease: String, term: Int64, writes: [RenewalWrite]) {
        self.lease = lease
        self.term = term
        self.writes = writes
    }
}

/// The receipts of a registry, for their renewal. An index leads to those that are due, so that the
/// others need not be read. `reply` runs as those of ``Registry`` do.
public protocol RenewalStore: AnyObject, Sendable {
    /// The receipts that have been due for longest, oldest first.
    func dueReceipts(
        _ query: DueReceiptQuery,
        reply: @escaping @Sendable (Result<[DueReceipt], StoreError>) -> Void)

    func receiptBacklog(
        _ group: ReceiptGroup, now: Int64,
        reply: @escaping @Sendable (Result<ReceiptBacklog, StoreError>) -> Void)

    /// Replies after the commit, with the keys that were changed; caches hear of new metrics.
    func storeRenewals(
        _ renewals: FencedRenewals,
        reply: @escaping @Sendable (Result<Set<KeyID>, StoreError>) -> Void)
}
