import EventLoop
import Judgement

extension Exchange {
    /// The registry has had its time (`timeouts.registry`), and what it may yet answer is for
    /// nobody.
    ///
    /// A look-up has changed nothing. A write may still be done: as with a lost reply of the
    /// counter store its outcome is unknown, so the app signs (or attests) again.
    ///
    /// One that has answered other look-ups meanwhile is no failed store: strangers can keep it
    /// busy. Of writes that says nothing: a disk that takes none may be read.
    func registryTimedOut(waitingSince start: MonotonicInstant) {
        worker.log.repeatedEvent("registry_failed", "registry: no answer within timeouts.registry")
        if case .user = awaited { return userWasLookedUp() }
        if own.inquiry != nil { return registryFailed() }
        let isBusy = !awaited.isWrite && worker.registryAnsweredAt > start
        let refusal = Refusal(
            isBusy ? .gatewayBusy : .storeUnavailable,
            awaited.isWrite ? .registryUnknown : .registryTimeout)
        resume { () throws(Refusal) in
            guard match.endpoint == nil else { throw refusal }
            return try satisfyJudgement { () throws(Refusal) in throw refusal }
        }
    }
}
