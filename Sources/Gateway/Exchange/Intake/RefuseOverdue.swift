import EventLoop
import Judgement
import Settings

/// Requests that arrive while the worker cannot keep up. The worker spends nothing on one that has
/// waited too long, or whose client has left meanwhile.
extension RequestIntake {
    /// Refuses a request that has waited for longer than `timeouts.backlog`.
    func refuseOverdue() throws(Refusal) {
        guard services.backlog.waited > 0 else { return }
        if services.backlog.isLate { exchange.arrival.mayBeLeft = true }
        guard client.listener.audience == .apps, services.backlog.refuses(services)
        else { return }
        var refusal = Refusal(.gatewayBusy, .backlog)
        refusal.retryAfterSeconds = 1
        throw refusal
    }

    /// Ends the exchange if its client left while the request waited (``isLeft(by:)``), and returns
    /// true then. Only requests that waited are checked, because the check costs a system call. The
    /// connections of other clients report the end in the next turn of the loop.
    func endIfClientLeft() -> Bool {
        guard exchange.arrival.mayBeLeft, let downstream = exchange.downstream,
            let transport = downstream.transport,
            isLeft(by: transport)
        else { return false }
        downstream.lose()
        return true
    }
}
