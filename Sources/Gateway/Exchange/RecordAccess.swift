import Bytes
import EventLoop
import HTTP
import Policy

extension Exchange {
    /// Counts the exchange and writes its line: always last, also after a refusal, exactly once.
    func recordAccess() -> Step {
        if !isHealthCheck { record() }
        giveBackPlace()
        let finished = downstream
        downstream = nil
        number = 0
        finished?.exchangeEnded()
        return .wait
    }

    /// The answer's; where none was begun before the client left, the number that stands for that.
    var loggedStatus: UInt16 {
        responseStatus == 0 && reason == .clientClosed ? reason.status : responseStatus
    }

    private func record() {
        if isTunnelling { worker.meter.tunnelClosed() }
        // Read anew: much may have happened in the callback whose time the loop keeps.
        let duration = MonotonicInstant.now().nanoseconds(since: startedAt)
        worker.meter.count(self, nanoseconds: duration)
        worker.log.access(self, nanoseconds: duration)
    }
}
