import EventLoop
import HTTP
import Judgement
import Policy
import Settings

extension Forwarder {
    /// The upstream's connection could not complete the answer. Only here can an exchange go back,
    /// and only if the upstream cannot have acted on the request or may act on it twice.
    func upstreamFailed(
        _ failure: UpstreamFailure, wasReused: Bool, isUnsent: Bool, sawAnswer: Bool
    ) {
        if let server = state.upstream?.server.state { state.attempts.triedServers.append(server) }
        state.upstream = nil
        if exchange.quotaUse != nil { accountant.noteSent(!isUnsent) }
        // A server that closed an idle connection has done no work for the request.
        let isFree =
            wasReused && state.attempts.count == 1 && (failure.isBreak || failure.isRefusal)
        if !exchange.progress.isStarted, !sawAnswer,
            isSafe(failure, wasReused: wasReused, isUnsent: isUnsent),
            mayTryAgain || (isFree && isUnsent)
        {
            if let pool, isFree || pool.budget.withdraw(now: services.loop.now.nanoseconds) {
                services.meter.add(.retries)
                exchange.returnToLease()
                return
            }
            services.meter.add(.retriesDenied)
        }
        let refusal = Refusal(failure.reason, .upstreamFailed(failure))
        // Only the client still has the whole request.
        let isForClient = failure.isRefusal && isUnsent && !sawAnswer && !intake.isWholeAtHand
        if isForClient, !exchange.progress.isStarted {
            exchange.handBack(refusal)
        } else {
            exchange.refuse(refusal)
        }
    }

    /// The connection takes fewer requests at once than the gateway assumed.
    func upstreamHadNoPlace() {
        state.upstream = nil
        state.attempts.count -= 1
        exchange.returnToLease()
    }

    /// How long the upstream may take for the answer's head: the route's bound, or else the
    /// upstream's.
    func headNanoseconds(_ timeouts: UpstreamTimeouts) -> UInt64 {
        let nanoseconds = match.handling?.responseNanoseconds ?? timeouts.response
        guard let attempt = timeouts.attempt, mayTryAgain, mayRepeat, intake.isWholeAtHand else {
            return nanoseconds
        }
        return min(attempt, nanoseconds)
    }

    /// True if the attempts so far leave room for one more, whether or not a retry is safe.
    var mayTryAgain: Bool {
        guard let pool else { return false }
        return state.attempts.count <= pool.settings.retries.countMax
    }

    private func isSafe(_ failure: UpstreamFailure, wasReused: Bool, isUnsent: Bool) -> Bool {
        guard let pool, intake.isWholeAtHand else { return false }
        // The same server is tried again only if it may just have closed an idle connection, or
        // refused for a reason that lies in the connection.
        let hasServer =
            pool.hasUntried(by: exchange) || (wasReused && state.attempts.count == 1)
            || failure.isRefusal
        guard hasServer else { return false }
        switch failure {
        case .connect, .connectTimeout, .refused: return true
        case .broken: return isUnsent || mayRepeat
        case .sendTimeout, .responseTimeout: return pool.timeouts.attempt != nil && mayRepeat
        // Another server would need a descriptor as well.
        case .malformed, .readTimeout, .exhausted: return false
        }
    }

    /// True if the upstream may act on the request twice. Only an idempotent request may be
    /// repeated unasked (RFC 9110 section 9.2.2), and a request with an assertion was signed for
    /// one use.
    var mayRepeat: Bool {
        head.methodKind.isIdempotent
            && (policy.mode == .off || intake.uniqueField(site.fieldNames.assertion).isAbsent)
    }
}
