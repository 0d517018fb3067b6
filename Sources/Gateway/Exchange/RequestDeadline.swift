import EventLoop
import Judgement
import Policy
import Settings

/// `timeouts.request`: the time from a request's first byte to the head of its answer. What streams
/// after that has bounds of its own.
extension Exchange: DeadlineHandler {
    func startRequestDeadline(_ nanoseconds: UInt64) {
        let deadline =
            requestDeadline ?? Deadline(wheel: services.deadlines, handler: self)
        requestDeadline = deadline
        deadline.set(afterNanoseconds: nanoseconds)
    }

    /// Applies the route's own bound, which also counts from the start of the request.
    func changeRequestDeadline(_ nanoseconds: UInt64) {
        guard nanoseconds > 0 else {
            requestDeadline?.clear()
            return
        }
        let elapsed = services.loop.now.nanoseconds(since: arrival.startedAt)
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
            // A head that is still arriving and a store that is being asked have bounds of their
            // own. The client must not be told that a request failed which a store has accepted.
            requestDeadline?.set(afterNanoseconds: Self.lateRequestNanoseconds)
        }
    }

    private static let lateRequestNanoseconds: UInt64 = 200_000_000
}
