import Bytes
import EventLoop
import HTTP
import Judgement
import Policy

extension Exchange {
    /// Counts the exchange and writes its line: always last, also after a refusal, exactly once.
    func recordAccess() -> Step {
        record()
        giveBackPlace()
        let finished = downstream
        downstream = nil
        number = 0
        finished?.exchangeEnded()
        return .wait
    }

    /// The answer's; where none was begun before the client left, the number that stands for that.
    var loggedStatus: UInt16 {
        progress.status == 0 && outcome.reason == .clientClosed
            ? outcome.reason.status : progress.status
    }

    private func record() {
        if tunnel.isOpen { worker.meter.tunnelClosed() }
        // Read anew: much may have happened in the callback whose time the loop keeps.
        let now = MonotonicInstant.now()
        let duration = now.nanoseconds(since: arrival.startedAt)
        if verdict == nil { verdict = judgement.verdict(circumstances) }
        if let tracing = site.tracing { endTrace(tracing, at: now) }
        switch verdict {
        case .some(let verdict):
            worker.meter.count(self, verdict, nanoseconds: duration)
            worker.log.access(self, verdict, nanoseconds: duration)
            captureRefusal()
        case nil: break
        }
    }
}
