import Bytes
import EventLoop
import HTTP
import Policy

extension Exchange {
    /// Counts the exchange and writes its line: always last, also after a refusal, exactly once.
    func recordAccess() -> Step {
        let duration = worker.loop.now.nanoseconds &- startedAt.nanoseconds
        worker.meter.count(self, nanoseconds: duration)
        worker.log.access(self, nanoseconds: duration)
        let finished = downstream
        downstream = nil
        number = 0
        finished?.exchangeEnded()
        return .wait
    }
}
