import Bytes
import EventLoop
import HTTP
import Judgement
import Policy

extension Recorder {
    /// Counts the exchange and writes its access line. It runs last and exactly once, after
    /// refusals too.
    func recordAccess() -> Step {
        if exchange.quotaUse != nil { accountant.settleQuotas() }
        record()
        forwarder.giveBackPlace()
        let finished = exchange.downstream
        exchange.downstream = nil
        exchange.number = 0
        finished?.exchangeEnded()
        return .wait
    }

    /// The status of the answer. If the client left before an answer began, the number that stands
    /// for it.
    var loggedStatus: UInt16 {
        exchange.progress.status == 0 && exchange.outcome.reason == .clientClosed
            ? exchange.outcome.reason.status : exchange.progress.status
    }

    private func record() {
        if forwarder.tunnel.isOpen { services.meter.tunnelClosed() }
        // The loop's own time is that of the callback's start, and much may have happened since.
        let now = MonotonicInstant.now()
        let duration = now.nanoseconds(since: exchange.arrival.startedAt)
        judge.describe()
        if let tracing = site.tracing { endTrace(tracing, at: now) }
        // Without a name for the state, a build that is not optimized would keep it for ever.
        let state = judge.state
        switch state.verdict {
        case .some(let verdict):
            services.meter.count(exchange, verdict, nanoseconds: duration)
            services.log.access(exchange, verdict, nanoseconds: duration)
            captureRefusal()
        case nil: break
        }
    }
}
