package import AppAttest
package import KeyStore

/// The result of sending one receipt to Apple, after the new one was verified.
package enum RenewalResult: Sendable {
    case renewed([UInt8], ReceiptFields)
    /// A receipt came that does not verify, with the reason.
    case invalid(String)
    case tooEarly
    case wrongEnvironment
    case badPayload
    case unauthorized
    case notFound
    case throttled(retryAfter: Duration?)
    case serverError(retryAfter: Duration?)
    /// No complete answer came, with the reason.
    case unreachable(String)
    case unexpected
    /// Apple does not know the receipt, which has expired.
    case expired

    package var outcome: RenewalOutcome {
        switch self {
        case .renewed: .renewed
        case .invalid: .receiptInvalid
        case .tooEarly: .tooEarly
        case .wrongEnvironment: .wrongEnvironment
        case .badPayload: .badPayload
        case .unauthorized: .unauthorized
        case .notFound: .notFound
        case .throttled: .throttled
        case .serverError: .serverError
        case .unreachable: .unreachable
        case .unexpected: .unexpected
        case .expired: .expired
        }
    }

    /// The time for which Apple wants no requests, if it said so.
    package var retryAfter: Duration? {
        switch self {
        case .throttled(let duration), .serverError(let duration): duration
        default: nil
        }
    }

    /// The reason for the failure, such as a proxy that wants another login; nil if the outcome
    /// says it.
    package var reason: String? {
        switch self {
        case .invalid(let reason), .unreachable(let reason): reason
        default: nil
        }
    }

    /// True if the next receipt is likely to fail in the same way.
    package var callsForBackOff: Bool {
        switch self {
        case .throttled, .serverError, .unreachable, .unexpected: true
        default: false
        }
    }

    /// True if Apple has judged this receipt, so that it can be reached and accepts our key.
    package var isJudgement: Bool {
        switch self {
        case .renewed, .invalid, .tooEarly, .wrongEnvironment, .badPayload, .notFound,
            .expired:
            true
        default: false
        }
    }
}

extension ReceiptSchedule {
    /// The write that keeps `result`. Nil if it says nothing new about the receipt, which then
    /// stays due.
    package func write(_ result: RenewalResult, of due: DueReceipt, at now: Int64) -> RenewalWrite?
    {
        var state = due.state
        state.lastOutcome = result.outcome
        state.attemptedAt = now
        state.failureCount = due.state.failureCount &+ 1
        switch result {
        case .unauthorized, .throttled: return nil
        case .renewed(let receipt, let fields):
            return renewed(receipt, fields, of: due, at: now)
        case .tooEarly:
            state.failureCount = 0
            state.dueAt = dueAt(tooEarly: state, of: due.keyID, now: now)
        case .wrongEnvironment, .badPayload, .expired: state.dueAt = nil
        case .notFound:
            state.dueAt = dueAt(notFound: state.failureCount, of: due.keyID, now: now)
        case .invalid, .serverError, .unreachable, .unexpected:
            state.dueAt = dueAt(failureCount: state.failureCount, of: due.keyID, now: now)
        }
        return RenewalWrite(keyID: due.keyID, dueAt: due.dueAt, state: state)
    }

    private func renewed(
        _ receipt: [UInt8], _ fields: ReceiptFields, of due: DueReceipt, at now: Int64
    ) -> RenewalWrite {
        var state = ReceiptState(
            fields.dates, dueAt: dueAt(fields.dates, of: due.keyID, renewedAt: now))
        state.lastOutcome = .renewed
        state.attemptedAt = now
        return RenewalWrite(
            keyID: due.keyID, dueAt: due.dueAt, receipt: receipt, riskMetric: fields.riskMetric,
            isNews: fields.riskMetric != nil && fields.riskMetric != due.riskMetric, state: state)
    }
}
