import Attestation
import Bytes
import EventLoop
import HTTP
import Judgement
import KeyStore
import Policy
import Settings

extension Accountant {
    /// Charges the request to the quotas of its route, one after another. Its proof was accepted,
    /// so that no replay is charged, and nothing was sent yet.
    func takeQuota() throws(Refusal) -> Step {
        guard let quotas = match.handling?.quotas else { return .next }
        let use = QuotaUse(quotas)
        exchange.quotaUse = use
        return try takeRest(of: use)
    }

    private func takeRest(of use: QuotaUse) throws(Refusal) -> Step {
        while let quota = use.next {
            guard let subject = try subject(of: quota) else { return .wait }
            let count = quota.count(of: subject, around: services.wallMilliseconds)
            use.asked = count
            let charge = QuotaCharge(
                quota.measure == .requests ? .take(1) : .look, of: count, limit: quota.limit)
            guard let verdict = services.charge(for: exchange, charge) else { return .wait }
            try take(verdict, of: quota, use)
        }
        return .next
    }

    /// The counter store's answer to ``WorkerServices/charge(for:_:)``.
    func quotaWasCharged(_ verdict: QuotaVerdict) {
        exchange.resume { () throws(Refusal) in
            guard let use, let quota = use.next else {
                throw Refusal(.internalFailure, .undecided)
            }
            try take(verdict, of: quota, use)
            return try takeRest(of: use)
        }
    }

    private func take(
        _ verdict: QuotaVerdict, of quota: Quota, _ use: QuotaUse
    ) throws(Refusal) {
        guard let count = use.asked.take() else { throw Refusal(.internalFailure, .undecided) }
        func note(used: Int?, taken: Int) {
            use.entries.append(QuotaUse.Entry(count: count, used: used, taken: taken))
        }
        switch verdict {
        case .granted(let used): note(used: used, taken: quota.measure == .requests ? 1 : 0)
        case .exhausted(let used):
            note(used: used, taken: 0)
            services.meter.quotas.count(.exhausted, of: quota.name)
            var refusal = Refusal(
                .quotaExhausted, .quota(name: quota.name),
                explanation: "A quota is used up until its period ends.")
            refusal.retryAfterSeconds = UInt64(max(1, secondsLeft(of: count)))
            throw refusal
        // A limit of this process, which strangers may have reached.
        case .full:
            services.meter.quotas.count(.unavailable, of: quota.name)
            throw Refusal(.gatewayBusy, .countersFull)
        case .unavailable:
            try goOn(without: quota, .counters)
            note(used: nil, taken: 0)
        case .unknown:
            // It may have been taken, and is not given back: never more than the limit.
            try goOn(without: quota, .countersUnknown)
            note(used: nil, taken: 0)
        }
    }

    /// Lets the request pass without a quota that the store cannot count, if the route only
    /// observes, or its `on_store_failure` does.
    private func goOn(without quota: Quota, _ check: Cause.Check) throws(Refusal) {
        services.meter.quotas.count(.unavailable, of: quota.name)
        let refusal = Refusal(.storeUnavailable, check)
        let isOnlyObserved = judge.state.judgement.isOnlyObserved(judge.judgedCohort)
        switch isOnlyObserved ? .pass : policy.onStoreFailure.action {
        case .deny: throw refusal
        case .limit:
            let rates = match.routeIndex.flatMap { site.rateLimits.shortfalls[$0] }
            guard let limit = rates?.limit(for: .unjudged) else { throw refusal }
            try limiter.takeShortfall(limit, .storeUnavailable, isTrial: false)
        case .pass: break
        }
        judge.note(.check(check))
    }

    // MARK: the sender

    /// The sender that the quota counts; nil if the registry must first tell the key's user.
    private func subject(of quota: Quota) throws(Refusal) -> QuotaSubject? {
        switch quota.subject {
        case .key: return provenKey
        case .installation: return installation
        case .app: return provenApp
        case .address:
            guard let address = intake.origin?.address.ipv6Form else { return .unknown }
            return site.quotaSubject(ofAddress: address)
        case .user: return try user()
        }
    }

    private var provenKey: QuotaSubject { exchange.provenKeyID.map { .key($0) } ?? .unknown }

    private var installation: QuotaSubject {
        exchange.provenKeyID.map { .installation(prover.installation(of: $0)) } ?? .unknown
    }

    private var provenApp: QuotaSubject {
        guard judge.state.judgement.tier != .none,
            let id = prover.known.app?.id ?? prover.proofFacts.appID
        else { return .unknown }
        return .app(id)
    }

    /// The user whom a trusted peer names, or whom an upstream has named for the key. A key whose
    /// user is not known yet, or whose user the registry does not tell, has a count of its own.
    private func user() throws(Refusal) -> QuotaSubject? {
        guard let rules = site.signals else { return .unknown }
        if let name = judge.requestUserName(rules) {
            return site.quotaSubject(ofUser: headBytes.span.extracting(name))
        }
        guard rules.userSource == .response, let keyID = exchange.provenKeyID else {
            return provenKey
        }
        guard let known = services.hub.signals.user(of: keyID, now: services.signalTime) else {
            // A registry that did not tell is not asked again.
            guard let use, !use.hasAskedForUser else { return provenKey }
            use.hasAskedForUser = true
            try services.lookUpUser(for: exchange, keyID)
            return nil
        }
        if known.isStale { services.refreshUser(of: keyID, rules) }
        return known.keys.map { .user($0.user) } ?? .key(keyID)
    }

    /// Continues with the registry's answer to ``WorkerServices/lookUpUser(for:_:)``, or without
    /// one after a failure or the time-out.
    func userWasLookedUp() {
        exchange.resume { () throws(Refusal) in
            guard let use else { throw Refusal(.internalFailure, .undecided) }
            return try takeRest(of: use)
        }
    }
}
