import AppAttest
import Bytes
import EventLoop
import HTTP
import Policy
import Settings

extension Exchange {
    /// Takes a connection to the route's upstream: an idle one, or a new one that is being made.
    /// Where all are busy it waits in the upstream's line.
    func leaseUpstream() throws(Refusal) -> Step {
        // The border: nothing crosses it that nobody decided about, whatever went wrong before.
        guard decision.forwards else { throw Refusal(.internalFailure, .undecided) }
        guard let pool else { throw Refusal(.internalFailure, .noRoute) }
        switch pool.lease(for: self) {
        case .connection(let connection):
            if upstreamAttempts == 0 { pool.budget.deposit() }
            upstreamAttempts += 1
            waitingPool = nil
            isCalled = false
            upstream = connection
            upstreamStartedAt = worker.loop.now
            upstreamAddress = connection.server.state.text
            return .next
        case .queued:
            waitingPool = pool
            isCalled = false
            return .wait
        case .refused(let check): throw Refusal(.upstreamBusy, check)
        }
    }

    /// The pool of the route's upstream.
    var pool: UpstreamPool? {
        guard let routeIndex, let index = site.settings.routes[routeIndex].upstream else {
            return nil
        }
        return worker.pool(for: site, upstream: index)
    }

    /// No connection came free in time.
    func waitedTooLong() {
        waitingPool = nil
        refuse(Refusal(.upstreamBusy, .queueTimeout))
    }

    /// Whom the request is from, for ``BalancePolicy/hashKey``: the proved key, else the client's
    /// address.
    var balanceKey: UInt64 {
        if let provenKeyID { return provenKeyID.digest.word0 }
        return KeyHash.hash(peer?.ipBytes ?? [])
    }

    /// Hands the request over; the upstream's connection drives the exchange from here on.
    func relayResponse() throws(Refusal) -> Step {
        if isStreaming, !isBodyComplete { downstream?.wantsBody() }
        upstream?.send(self)
        return .wait
    }
}
