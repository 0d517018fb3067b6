import EventLoop
import HTTP
import Judgement
import Policy
import Settings

extension Forwarder {
    /// The upstream's connection could not finish the answer. The only place where an exchange goes
    /// back, and only where the upstream cannot have acted on the request, or may act twice.
    func upstreamFailed(
        _ failure: UpstreamFailure, wasReused: Bool, isUnsent: Bool, sawAnswer: Bool
    ) {
        if let server = upstream?.server.state { attempts.triedServers.append(server) }
        upstream = nil
        // A server that ended an idle connection has done no work for the request.
        let isFree = wasReused && attempts.count == 1 && (failure.isBreak || failure.isRefusal)
        if !exchange.progress.isStarted, !sawAnswer,
            isSafe(failure, wasReused: wasReused, isUnsent: isUnsent),
            mayTryAgain || (isFree && isUnsent)
        {
            if let pool, isFree || pool.budget.withdraw(now: worker.loop.now.nanoseconds) {
                worker.meter.add(.retries)
                exchange.returnToLease()
                return
            }
            worker.meter.add(.retriesDenied)
        }
        let refusal = Refusal(failure.reason, .upstreamFailed(failure))
        // The client has what the gateway does not have any more.
        let isForClient = failure.isRefusal && isUnsent && !sawAnswer && !intake.isWholeAtHand
        if isForClient, !exchange.progress.isStarted {
            exchange.handBack(refusal)
        } else {
            exchange.refuse(refusal)
        }
    }

    /// The connection takes fewer requests at once than it was thought to.
    func upstreamHadNoPlace() {
        upstream = nil
        attempts.count -= 1
        exchange.returnToLease()
    }

    /// How long the head of the answer may take: by the route, else for all of its requests.
    func headNanoseconds(_ timeouts: UpstreamTimeouts) -> UInt64 {
        let nanoseconds = match.handling?.responseNanoseconds ?? timeouts.response
        guard let attempt = timeouts.attempt, mayTryAgain, mayRepeat, intake.isWholeAtHand else {
            return nanoseconds
        }
        return min(attempt, nanoseconds)
    }

    /// Whether one more try is allowed, were it safe and in the budget.
    var mayTryAgain: Bool {
        guard let pool else { return false }
        return attempts.count <= pool.settings.retries.countMax
    }

    private func isSafe(_ failure: UpstreamFailure, wasReused: Bool, isUnsent: Bool) -> Bool {
        guard let pool, intake.isWholeAtHand else { return false }
        // The same server again only where it may have closed an idle connection in that moment, or
        // has refused for a reason that lies in the connection.
        let hasServer =
            pool.hasUntried(by: exchange) || (wasReused && attempts.count == 1) || failure.isRefusal
        guard hasServer else { return false }
        switch failure {
        case .connect, .connectTimeout, .refused: return true
        case .broken: return isUnsent || mayRepeat
        case .sendTimeout, .responseTimeout: return pool.timeouts.attempt != nil && mayRepeat
        // Another server would need a descriptor too.
        case .malformed, .readTimeout, .exhausted: return false
        }
    }

    /// Whether the upstream may act on the request twice. RFC 9110 section 9.2.2: only an
    /// idempotent request may be repeated unasked; one with an assertion was signed to be acted on
    /// once.
    var mayRepeat: Bool {
        head.methodKind.isIdempotent
            && (policy.mode == .off || intake.uniqueField(site.fieldNames.assertion).isAbsent)
    }
}
