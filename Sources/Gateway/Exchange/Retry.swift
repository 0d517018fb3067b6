import EventLoop
import HTTP
import Policy
import Settings

/// How an upstream's connection failed its exchange.
enum UpstreamFailure: Equatable {
    /// No connection could be made: nothing was sent.
    case connect(description: String)
    /// The connection ended or broke.
    case broken(description: String)
    /// The server has said that it did not act on the request, and will not on this connection
    /// (RFC 9113 section 8.7).
    case refused(description: String)
    /// What came is not HTTP as RFC 9112 or 9113 has it.
    case malformed(code: String)
    case connectTimeout
    /// The gateway has no descriptor left for a connection: the server has nothing to do with it.
    case exhausted
    /// The server did not take more of the request.
    case sendTimeout
    case responseTimeout
    /// The answer's body stopped coming.
    case readTimeout

    var reason: Reason {
        switch self {
        case .connect, .broken, .refused, .malformed: .upstreamFailed
        case .exhausted: .upstreamBusy
        case .connectTimeout, .sendTimeout, .responseTimeout, .readTimeout: .upstreamTimeout
        }
    }

    /// For logs and events.
    var text: String {
        switch self {
        case .connect(let description): "connect: " + description
        case .broken(let description): "broken: " + description
        case .refused(let description): "refused: " + description
        case .malformed(let code): "malformed: " + code
        case .connectTimeout: "connect_timeout"
        case .exhausted: "out_of_descriptors"
        case .sendTimeout: "send_timeout"
        case .responseTimeout: "response_timeout"
        case .readTimeout: "read_timeout"
        }
    }

    var isBreak: Bool { if case .broken = self { true } else { false } }

    /// What it is for a request that waited for the connection to be ready: no byte of it was sent.
    var beforeConnecting: UpstreamFailure {
        switch self {
        case .broken, .malformed: .connect(description: text)
        default: self
        }
    }

    var isRefusal: Bool { if case .refused = self { true } else { false } }
}

extension Exchange {
    /// The upstream's connection could not finish the answer. The only place where an exchange goes
    /// back, and only where the upstream cannot have acted on the request, or may act twice.
    func upstreamFailed(
        _ failure: UpstreamFailure, wasReused: Bool, isUnsent: Bool, sawAnswer: Bool
    ) {
        if let server = upstream?.server.state { triedServers.append(server) }
        upstream = nil
        // A server that ended an idle connection has done no work for the request.
        let isFree = wasReused && upstreamAttempts == 1 && (failure.isBreak || failure.isRefusal)
        if !isAnswerStarted, !sawAnswer, isSafe(failure, wasReused: wasReused, isUnsent: isUnsent),
            mayTryAgain || (isFree && isUnsent)
        {
            if let pool, isFree || pool.budget.withdraw(now: worker.loop.now.nanoseconds) {
                worker.meter.add(.retries)
                returnToLease()
                return
            }
            worker.meter.add(.retriesDenied)
        }
        refuse(Refusal(failure.reason, .upstreamFailed(failure)))
    }

    /// The connection takes fewer requests at once than it was thought to.
    func upstreamHadNoPlace() {
        upstream = nil
        upstreamAttempts -= 1
        returnToLease()
    }

    /// How long the head of the answer may take: by the route, else for all of its requests.
    func headNanoseconds(_ timeouts: UpstreamTimeouts) -> UInt64 {
        let nanoseconds = treatment?.responseNanoseconds ?? timeouts.response
        guard let attempt = timeouts.attempt, mayTryAgain else { return nanoseconds }
        return min(attempt, nanoseconds)
    }

    /// Whether one more try is allowed, were it safe and in the budget.
    var mayTryAgain: Bool {
        guard let pool else { return false }
        return upstreamAttempts <= pool.settings.retries.countMax
    }

    private func isSafe(_ failure: UpstreamFailure, wasReused: Bool, isUnsent: Bool) -> Bool {
        guard let pool, isWholeAtHand else { return false }
        // The same server again only where it may have closed an idle connection in that moment, or
        // has refused for a reason that lies in the connection.
        let hasServer =
            pool.hasUntried(by: self) || (wasReused && upstreamAttempts == 1) || failure.isRefusal
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
            && (policy.mode == .off || uniqueField(site.fieldNames.assertion).isAbsent)
    }
}
