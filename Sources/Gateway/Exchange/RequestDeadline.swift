import EventLoop
import Judgement
import Policy
import Settings

/// `timeouts.request`: from a request's first byte to the head of its answer. What streams after
/// that has bounds of its own.
extension Exchange: DeadlineHandler {
    func startRequestDeadline(_ nanoseconds: UInt64) {
        let deadline =
            requestDeadline ?? Deadline(wheel: worker.deadlines, handler: self)
        requestDeadline = deadline
        deadline.set(afterNanoseconds: nanoseconds)
    }

    /// The route has a bound of its own, which counts from the request's start too.
    func changeRequestDeadline(_ nanoseconds: UInt64) {
        guard nanoseconds > 0 else {
            requestDeadline?.clear()
            return
        }
        let elapsed = worker.loop.now.nanoseconds(since: arrival.startedAt)
        startRequestDeadline(nanoseconds > elapsed ? nanoseconds - elapsed : 1)
    }

    func deadlineExpired() {
        guard number != 0, !progress.isStarted else { return }
        switch phase {
        case .digestBody where !intake.isComplete:
            refuse(Refusal(.requestTimeout, .requestTimeout))
        case .leaseUpstream, .relayResponse:
            refuse(Refusal(.upstreamTimeout, .requestTimeout))
        default:
            // A head that is still coming, or a store that is being asked: both have bounds of
            // their own, and what a store has accepted must not be told to have failed.
            requestDeadline?.set(afterNanoseconds: Self.lateRequestNanoseconds)
        }
    }

    private static let lateRequestNanoseconds: UInt64 = 200_000_000
}
