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
    /// What came is not HTTP as RFC 9112 has it.
    case malformed(code: String)
    case connectTimeout
    /// The server did not take more of the request.
    case sendTimeout
    case responseTimeout
    /// The answer's body stopped coming.
    case readTimeout

    var reason: Reason {
        switch self {
        case .connect, .broken, .malformed: .upstreamFailed
        case .connectTimeout, .sendTimeout, .responseTimeout, .readTimeout: .upstreamTimeout
        }
    }

    var detail: String {
        switch self {
        case .connect(let description): "connect: " + description
        case .broken(let description): "broken: " + description
        case .malformed(let code): "malformed: " + code
        case .connectTimeout: "connect_timeout"
        case .sendTimeout: "send_timeout"
        case .responseTimeout: "response_timeout"
        case .readTimeout: "read_timeout"
        }
    }

    var isBreak: Bool { if case .broken = self { true } else { false } }
}

extension Exchange {
    /// The upstream's connection could not finish the answer. The only place where an exchange goes
    /// back, and only where the upstream cannot have acted on the request, or may act twice.
    func upstreamFailed(
        _ failure: UpstreamFailure, wasReused: Bool, isUnsent: Bool, sawAnswer: Bool
    ) {
        if let server = upstream?.server.state { triedServers.append(server) }
        upstream = nil
        if !isAnswerStarted, !sawAnswer, isSafe(failure, wasReused: wasReused, isUnsent: isUnsent),
            mayTryAgain
        {
            // A server that ended an idle connection has done no work for the request.
            let isFree = wasReused && upstreamAttempts == 1 && failure.isBreak
            if let pool, isFree || pool.budget.withdraw(now: worker.loop.now.nanoseconds) {
                worker.meter.add(.retries)
                returnToLease()
                return
            }
            worker.meter.add(.retriesDenied)
        }
        refuse(Refusal(failure.reason, detail: failure.detail))
    }

    /// Whether one more try is allowed, were it safe and in the budget.
    var mayTryAgain: Bool {
        guard let pool else { return false }
        return upstreamAttempts <= pool.settings.retries.countMax
    }

    private func isSafe(_ failure: UpstreamFailure, wasReused: Bool, isUnsent: Bool) -> Bool {
        guard let pool else { return false }
        // The same server again only where it may have closed an idle connection in that moment.
        let hasServer = pool.hasUntried(by: self) || (wasReused && upstreamAttempts == 1)
        guard hasServer else { return false }
        switch failure {
        case .connect, .connectTimeout: return true
        case .broken: return isUnsent || mayRepeat
        case .sendTimeout, .responseTimeout: return pool.timeouts.attempt != nil && mayRepeat
        case .malformed, .readTimeout: return false
        }
    }

    /// Whether the upstream may act on the request twice. RFC 9110 section 9.2.2: only an
    /// idempotent request may be repeated unasked; one with an assertion was signed to be acted on
    /// once.
    private var mayRepeat: Bool {
        head.methodKind.isIdempotent
            && (policy.mode == .off || uniqueField(site.assertionName).isAbsent)
    }
}
