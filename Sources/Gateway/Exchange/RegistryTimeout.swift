import EventLoop
import Policy

extension Exchange {
    /// The registry has had its time (`timeouts.registry`), and what it may yet answer is for
    /// nobody.
    ///
    /// A look-up has changed nothing. A write may still be done: as with a lost reply of the
    /// counter store its outcome is unknown, so the app signs (or attests) again.
    ///
    /// One that has answered others meanwhile is no failed store: strangers can keep it busy.
    func registryTimedOut(waitingSince start: MonotonicInstant) {
        worker.log.repeatedEvent("registry_failed", "registry: no answer within timeouts.registry")
        if isUserAwaited { return userWasLookedUp() }
        if inquiry != nil { return registryFailed() }
        let isWrite = endpoint != nil || phase == .advanceCounter
        let refusal = Refusal(
            worker.registryAnsweredAt > start ? .gatewayBusy : .storeUnavailable,
            detail: isWrite ? Refusal.unknownWriteDetail : "registry_timeout")
        do throws(Refusal) {
            guard endpoint == nil else { throw refusal }
            try refuseOrObserve(refusal)
            phase = .rewriteHeaders
            resume()
        } catch {
            refuse(error)
        }
    }
}

extension Refusal {
    /// Of a write that may yet be done.
    static let unknownWriteDetail = "registry_unknown"
}
