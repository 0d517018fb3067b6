import EventLoop
import Judgement

extension Prover {
    /// The registry has not answered within `timeouts.registry`. If it answers later, the answer is
    /// ignored.
    ///
    /// A look-up has changed nothing. A write may still be done. Its outcome is unknown, as after a
    /// lost reply of the counter store, so the app signs or attests again.
    ///
    /// A registry that has answered other look-ups meanwhile has not failed, since strangers can
    /// keep it busy. For writes this proves nothing: a disk that accepts no writes may still be
    /// readable.
    func registryTimedOut(waitingSince start: MonotonicInstant) {
        services.log.repeatedEvent(
            "registry_failed", "registry: no answer within timeouts.registry")
        if case .user = exchange.awaited { return exchange.userWasLookedUp() }
        if adminDesk.inquiry != nil { return adminDesk.registryFailed() }
        let isBusy = !exchange.awaited.isWrite && services.registryAnsweredAt > start
        let refusal = Refusal(
            isBusy ? .gatewayBusy : .storeUnavailable,
            exchange.awaited.isWrite ? .registryUnknown : .registryTimeout)
        exchange.resume { () throws(Refusal) in
            guard match.endpoint == nil else { throw refusal }
            return try satisfyJudgement { () throws(Refusal) in throw refusal }
        }
    }
}
