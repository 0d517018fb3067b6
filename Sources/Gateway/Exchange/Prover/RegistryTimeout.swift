import EventLoop
import Judgement

extension Prover {
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
        if case .user = exchange.awaited { return judge.userWasLookedUp() }
        if adminDesk.inquiry != nil { return adminDesk.registryFailed() }
        let isBusy = !exchange.awaited.isWrite && worker.registryAnsweredAt > start
        let refusal = Refusal(
            isBusy ? .gatewayBusy : .storeUnavailable,
            exchange.awaited.isWrite ? .registryUnknown : .registryTimeout)
        exchange.resume { () throws(Refusal) in
            guard match.endpoint == nil else { throw refusal }
            return try satisfyJudgement { () throws(Refusal) in throw refusal }
        }
    }
}
