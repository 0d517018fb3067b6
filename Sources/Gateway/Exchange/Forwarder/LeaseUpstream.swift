import Attestation
import Bytes
import EventLoop
import HTTP
import Judgement
import Policy
import Settings

extension Forwarder {
    /// Takes a connection to the route's upstream: an idle one, or a new one that is being made. If
    /// all are busy, the request waits in the upstream's queue.
    func leaseUpstream() throws(Refusal) -> Step {
        // No request goes on from here without a decision, whatever went wrong before.
        guard exchange.decision.forwards else {
            throw Refusal(.internalFailure, .undecided)
        }
        guard let pool else { throw Refusal(.internalFailure, .noRoute) }
        if state.attempts.count == 0, intake.endIfClientLeft() { return .wait }
        switch pool.lease(for: exchange) {
        case .connection(let connection):
            state.attempts.startedAt = services.loop.now
            if state.attempts.count == 0 {
                pool.budget.deposit()
                state.attempts.beganAt = state.attempts.startedAt
            }
            state.attempts.count += 1
            state.attempts.queue = .outside
            state.upstream = connection
            state.attempts.server = connection.server
            return .next
        case .queued:
            state.attempts.queue = .waiting(pool)
            return .wait
        case .refused(let check): throw Refusal(.upstreamBusy, check)
        }
    }

    /// The pool of the route's upstream: that of the request's place, if it holds one.
    var pool: UpstreamPool? {
        if let held = state.place?.pool { return held }
        return match.upstreamIndex.map { services.pool(for: site, upstream: $0) }
    }

    /// A connection is free, and this request is the next in the queue.
    func wasCalled() {
        state.attempts.queue = .called
        exchange.resume()
    }

    /// No connection became free in time.
    func waitedTooLong() {
        state.attempts.queue = .outside
        exchange.refuse(Refusal(.upstreamBusy, .queueTimeout))
    }

    /// The value that ``BalancePolicy/hashKey`` balances by: the proved key, or else the client's
    /// address.
    var balanceKey: UInt64 {
        if let provenKeyID = exchange.provenKeyID { return provenKeyID.digest.word0 }
        return KeyHash.hash(client.peer?.ipBytes ?? [])
    }
}
