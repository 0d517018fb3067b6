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
    case responseTimeout

    var reason: Reason {
        switch self {
        case .connect, .broken, .malformed: .upstreamFailed
        case .connectTimeout, .responseTimeout: .upstreamTimeout
        }
    }

    var detail: String {
        switch self {
        case .connect(let description): "connect: " + description
        case .broken(let description): "broken: " + description
        case .malformed(let code): "malformed: " + code
        case .connectTimeout: "connect_timeout"
        case .responseTimeout: "response_timeout"
        }
    }
}

extension Exchange {
    /// The upstream's connection could not finish the answer. The only place where an exchange goes
    /// back: once, and only where the upstream cannot have acted on the request, or may act twice.
    func upstreamFailed(_ failure: UpstreamFailure, wasReused: Bool, sawAnswer: Bool) {
        upstream = nil
        if mayRetry(failure, wasReused: wasReused, sawAnswer: sawAnswer) {
            worker.meter.add(.retries)
            returnToLease()
            return
        }
        refuse(Refusal(failure.reason, detail: failure.detail))
    }

    private func mayRetry(
        _ failure: UpstreamFailure, wasReused: Bool, sawAnswer: Bool
    ) -> Bool {
        guard !isAnswerStarted, !sawAnswer else { return false }
        switch failure {
        case .connect, .connectTimeout:
            // Nothing was sent, so any request may go to the next server.
            guard let routeIndex, let index = site.settings.routes[routeIndex].upstream else {
                return false
            }
            return upstreamAttempts < site.settings.upstreams[index].servers.count
        case .broken:
            // RFC 9110 section 9.2.2: only an idempotent request may be repeated unasked.
            return wasReused && upstreamAttempts == 1 && head.methodKind.isIdempotent
        case .malformed, .responseTimeout: return false
        }
    }
}
