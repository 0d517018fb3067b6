import KeyStore

extension WorkerServices {
    /// The counter store's verdict on a charge to a quota, or nil if the request will be told it.
    ///
    /// What was taken for a request that ends before the verdict comes is given back.
    func charge(for request: any WaitingRequest, _ charge: QuotaCharge) -> QuotaVerdict? {
        let number = request.number
        var isInline = true
        var verdict: QuotaVerdict?
        counters.charge(charge) { [unowned self] given in
            if isInline {
                verdict = given
            } else if let request = waiting.take(number, for: .charge) {
                request.quotaWasCharged(given)
            } else if case .granted = given, case .take(let taken) = charge.change {
                counters.charge(
                    QuotaCharge(.giveBack(taken), of: charge.count, limit: charge.limit)
                ) { _ in }
            }
        }
        isInline = false
        if verdict == nil { waiting.wait(request, for: .quota) }
        return verdict
    }
}
