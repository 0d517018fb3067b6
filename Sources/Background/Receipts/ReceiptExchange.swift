package import KeyStore

/// The answer of Apple's server to a receipt.
package enum ReceiptAnswer: Sendable {
    /// 200: a newer one, which is not verified yet.
    case receipt([UInt8])
    case other(RenewalResult)
}

/// Sends receipts to Apple's server. The control thread's.
package protocol ReceiptExchange: AnyObject {
    /// Requests that may be under way at once.
    var inFlightCountMax: Int { get }

    /// Whether there is a key to sign in with for the team.
    func hasKey(ofTeam teamID: String) -> Bool

    /// `handler` is called once, later.
    func exchange(
        _ receipt: [UInt8], of group: ReceiptGroup, handler: @escaping (ReceiptAnswer) -> Void)
}
