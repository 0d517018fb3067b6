import HTTP
import JSON
import Judgement
import KeyStore
import Policy
import Settings

/// Charges what the answer turned out to cost, and gives back what was not used.
extension Accountant {
    /// Notes that a try to send the request is over. If `isSent`, a byte of it may have reached the
    /// upstream.
    func noteSent(_ isSent: Bool) { if isSent { use?.isSent = true } }

    /// Prepares to read the upstream's final answer.
    func answerBegan(_ response: borrowing ResponseHead, bytes: Span<UInt8>) {
        guard let use else { return }
        use.isSent = true
        use.isAnswered = true
        guard use.quotas.readsJSON, response.framing != .none, response.status != 101 else {
            return
        }
        // Services do not charge for errors, so those need no number.
        use.owesNumbers = (200..<300).contains(response.status)
        use.reader = AnswerReader(use.quotas.pointers, of: response, bytes: bytes)
    }

    /// Notes that the upstream's answer is complete. One without a byte of a body owes no number.
    func answerEnded() {
        if let use, use.bodyByteCount == 0 { use.owesNumbers = false }
    }

    /// Settles the charges of a request that has ended, in whatever way. Runs once.
    func settleQuotas() {
        guard let use else { return }
        // The proxy that asked forwards the request itself.
        let isSent = use.isSent || checkCall.question?.isAllowed == true
        // A client that leaves before the head of an answer, or breaks its streamed body off, may
        // have caused all of the answer's cost.
        if isSent, !use.isAnswered, exchange.outcome.reason.isBreakByClient {
            use.owesNumbers = true
        }
        var numbers = (use.reader?.finish() ?? [])[...]
        for (quota, entry) in zip(use.quotas.quotas, use.entries) {
            let charge: Int
            switch quota.measure {
            case .requests:
                if !isSent, entry.taken > 0 { giveBack(entry, of: quota) }
                charge = isSent ? entry.taken : 0
            case .responseBytes:
                charge = isSent ? min(use.bodyByteCount, quota.limit) : 0
                add(charge, to: entry, of: quota)
            case .json:
                let number = numbers.popFirst() ?? nil
                charge = isSent ? cost(number, of: quota, use) : 0
                add(charge, to: entry, of: quota)
            }
            if charge > 0 {
                use.charged.append((quota, charge))
                services.meter.quotas.count(charge, of: quota.name)
            }
        }
    }

    private func giveBack(_ entry: QuotaUse.Entry, of quota: Quota) {
        services.counters.charge(
            QuotaCharge(.giveBack(entry.taken), of: entry.count, limit: quota.limit)
        ) { _ in }
    }

    private func add(_ charge: Int, to entry: QuotaUse.Entry, of quota: Quota) {
        guard charge > 0 else { return }
        let meter = services.meter.quotas
        services.counters.charge(
            QuotaCharge(.add(charge), of: entry.count, limit: quota.limit)
        ) { verdict in
            switch verdict {
            case .granted, .exhausted: break
            case .unavailable, .full, .unknown: meter.count(.unavailable, of: quota.name)
            }
        }
    }

    /// What an answer with this number costs.
    private func cost(_ number: JSONNumber?, of quota: Quota, _ use: QuotaUse) -> Int {
        if let cost = number.flatMap({ quota.charge(for: $0) }) {
            services.meter.quotas.count(.numbered, of: quota.name)
            return cost
        }
        guard use.owesNumbers else { return 0 }
        services.meter.quotas.count(.missing, of: quota.name)
        let route = match.routeIndex.map { site.settings.routes[$0].name } ?? ""
        services.log.repeatedEvent(
            "quota_number_missing",
            "\(quota.name): an answer of the route \(route) has no number that can be charged, so "
                + "it was charged \(quota.missingCharge)")
        return min(quota.missingCharge, quota.limit)
    }
}

extension Reason {
    /// True if the client is why a request that was sent gets no answer.
    fileprivate var isBreakByClient: Bool {
        switch self {
        case .clientClosed, .badRequest, .requestTimeout, .bodyTooLarge, .headTooLarge: true
        default: false
        }
    }
}

extension Quota {
    /// The charge for a number; nil if it is negative or has a fraction.
    ///
    /// No charge exceeds the limit, because nothing is left after it. So a number that is too large
    /// for stores uses up the period.
    fileprivate func charge(for number: JSONNumber) -> Int? {
        if let value = number.unsignedInteger { return Int(min(value, UInt64(limit))) }
        guard let limitNumber = JSONNumber("\(limit)") else { return nil }
        return number > limitNumber ? limit : nil
    }
}
