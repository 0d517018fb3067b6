import Bytes
import EventLoop
import HTTP
import Judgement
import Policy

extension Recorder {
    /// Counts the exchange and writes its line: always last, also after a refusal, exactly once.
    func recordAccess() -> Step {
        record()
        forwarder.giveBackPlace()
        let finished = exchange.downstream
        exchange.downstream = nil
        exchange.number = 0
        finished?.exchangeEnded()
        return .wait
    }

    /// The answer's; where none was begun before the client left, the number that stands for that.
    var loggedStatus: UInt16 {
        exchange.progress.status == 0 && exchange.outcome.reason == .clientClosed
            ? exchange.outcome.reason.status : exchange.progress.status
    }

    private func record() {
        if forwarder.tunnel.isOpen { worker.meter.tunnelClosed() }
        // Read anew: much may have happened in the callback whose time the loop keeps.
        let now = MonotonicInstant.now()
        let duration = now.nanoseconds(since: exchange.arrival.startedAt)
        judge.describe()
        if let tracing = site.tracing { endTrace(tracing, at: now) }
        switch judge.verdict {
        case .some(let verdict):
            worker.meter.count(exchange, verdict, nanoseconds: duration)
            worker.log.access(exchange, verdict, nanoseconds: duration)
            captureRefusal()
        case nil: break
        }
    }
}
