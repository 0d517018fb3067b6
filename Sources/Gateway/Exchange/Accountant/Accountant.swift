/// Charges requests and their answers to the quotas of their route.
///
/// It may change only ``QuotaUse``, which requests of other routes do not have.
struct Accountant: ExchangePart {
    let exchange: Exchange

    /// Nil if the route has no quotas, or the request has not come to them.
    @inline(__always) var use: QuotaUse? { exchange.quotaUse }
}
