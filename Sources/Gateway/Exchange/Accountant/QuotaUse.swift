import KeyStore
import Policy

/// The charges of one request to the quotas of its route, and what they depend on.
final class QuotaUse {
    /// One quota that the store was asked about.
    struct Entry {
        let count: QuotaCount
        /// How much of the quota was used when the store was asked; nil if it did not tell.
        let used: Int?
        /// What was taken before the request was forwarded.
        let taken: Int
    }

    let quotas: RouteQuotas
    /// The quotas that the store has answered for, in the order of the route's.
    var entries: [Entry] = []
    /// The count that the store is asked about.
    var asked: QuotaCount?
    /// True once the registry was asked for the user of the request's key.
    var hasAskedForUser = false
    /// True once a byte of the request may have reached an upstream.
    var isSent = false
    /// True once the head of the upstream's final answer has come.
    var isAnswered = false
    /// True if the upstream's answer has to have the numbers that the quotas ask for.
    var owesNumbers = false
    /// Reads the answer's numbers; nil if it has none, or the quotas ask for none.
    var reader: AnswerReader?
    /// The bytes of the answer's body that have come from the upstream.
    var bodyByteCount = 0
    /// What the request was charged in the end.
    var charged: [(quota: Quota, charge: Int)] = []

    init(_ quotas: RouteQuotas) { self.quotas = quotas }

    /// The quota that the store is to be asked about next; nil behind the last one.
    var next: Quota? {
        entries.count < quotas.quotas.count ? quotas.quotas[entries.count] : nil
    }

    /// True if the answer's body must be read on its way to the client.
    var readsBody: Bool { reader != nil }

    /// Takes the next bytes of the answer's body.
    func read(_ bytes: Span<UInt8>) {
        bodyByteCount += bytes.count
        reader?.feed(bytes)
    }
}
