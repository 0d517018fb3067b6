import EventLoop
import Judgement
import Settings

/// A request that comes while the worker cannot keep up: nothing is spent on one that has waited
/// too long, or whose client has left meanwhile.
extension RequestIntake {
    /// Refuses a request that has waited for longer than `timeouts.backlog`.
    func refuseOverdue() throws(Refusal) {
        guard worker.connections.backlog.waited > 0 else { return }
        if worker.connections.backlog.isLate { exchange.arrival.mayBeLeft = true }
        guard client.listener.audience == .apps, worker.connections.backlog.refuses(worker)
        else { return }
        var refusal = Refusal(.gatewayBusy, .backlog)
        refusal.retryAfterSeconds = 1
        throw refusal
    }

    /// Ends the exchange if its client has left while the request waited (``isLeft(by:)``); true
    /// then. Others are not looked at: that costs a system call, and their connections tell in the
    /// next turn.
    func endIfClientLeft() -> Bool {
        guard exchange.arrival.mayBeLeft, let downstream = exchange.downstream,
            let transport = downstream.transport,
            isLeft(by: transport)
        else { return false }
        downstream.lose()
        return true
    }
}
