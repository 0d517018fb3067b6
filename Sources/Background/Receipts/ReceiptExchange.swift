package import KeyStore

/// The answer of Apple's server to a receipt.
package enum ReceiptAnswer: Sendable {
    /// 200: the answer is a newer receipt, which is not verified yet.
    case receipt([UInt8])
    case other(RenewalResult)
}

/// Sends receipts to Apple's server. Belongs to the control thread.
package protocol ReceiptExchange: AnyObject {
    /// The most requests that may be under way at once.
    var inFlightCountMax: Int { get }

    /// True if there is a key to sign in with for the team.
    func hasKey(ofTeam teamID: String) -> Bool

    /// `handler` is called once, later.
    func exchange(
        _ receipt: [UInt8], of group: ReceiptGroup, handler: @escaping (ReceiptAnswer) -> Void)
}
