import Attestation
import Bytes
import EventLoop
import HTTP
import Judgement
import KeyStore
import Settings

/// Signals: what the gateway knows of a key, its user and its address beyond the signature. They
/// are judged after the signature was checked; otherwise strangers could raise them against others.
extension Judge {
    /// The network that is counted for the client's address; nil for a unix socket.
    private var countedNetwork: Bytes16? { intake.origin?.address.ipv6Form?.limitedNetwork }

    /// Judges the signals of the proof's key. If a signal needs the key's user, it waits for the
    /// registry.
    func judgeSignals() throws(Refusal) -> Step {
        if let keyID = prover.proofFacts.keyID, let rules = site.signals {
            var keys: UserKeys?
            if rules.asksForUser {
                guard let user = userKeys(of: keyID, rules) else {
                    try services.lookUpUser(for: exchange, keyID)
                    return .wait
                }
                keys = user
            }
            try judgeSignals(of: keyID, keys, rules)
        }
        state.judgement.met(.signals)
        return .next
    }

    /// Refuses the request if the raised signals demand it.
    private func judgeSignals(
        of keyID: KeyID, _ user: UserKeys?, _ rules: SiteSignals
    ) throws(Refusal) {
        var facts = SignalFacts()
        if let user { judge(user, rules, &facts) }
        if let network = countedNetwork {
            if let rule = rules.addressKeys {
                let counts = count(.key(keyID), of: .network(network), rule)
                facts.found(counts.after, by: rule.rule)
                reportRaised(rule, counts, { "\(exchange.peerText) has \(counts.after) keys" })
            }
            if let rule = rules.addressAttestations {
                facts.found(count(.look, of: .network(network), rule).after, by: rule.rule)
            }
        }
        if let rule = rules.keyConflicts {
            facts.found(count(.look, of: .key(keyID), rule).after, by: rule.rule)
        }
        if let bits = prover.known.key?.deviceBits, let rules = rules.deviceBits {
            // The key is one of them, whenever it was enrolled.
            judge(bits, rules, &facts) { max(1, $0) }
        }
        judgeKeyUse(of: keyID, rules, &facts)
        try judge(facts, isTrial: true) { site.logName(of: keyID) }
    }

    /// Counts the accepted request against the rate limits of the signals that it raised.
    func countRaised() {
        guard let signals = state.judgement.signals, let rules = site.signals else { return }
        for rule in signals.raised {
            guard let limit = rules.rule(of: rule.signal)?.rateLimit else { continue }
            // Other requests may have used up the limit meanwhile, but this one was accepted.
            try? limiter.take([limit])
        }
    }

    /// The keys of the key's user, or nil inside if the user is unknown. Nil outside if the
    /// registry must be asked.
    private func userKeys(of keyID: KeyID, _ rules: SiteSignals) -> UserKeys?? {
        guard let known = services.hub.signals.user(of: keyID, now: services.signalTime) else {
            return nil
        }
        if known.isStale { services.refreshUser(of: keyID, rules) }
        return .some(known.keys)
    }

    private func judge(_ keys: UserKeys, _ rules: SiteSignals, _ facts: inout SignalFacts) {
        if let rule = rules.userKeys { facts.found(keys.keyCount, by: rule.rule) }
        if let rule = rules.newUserKey {
            let age = services.wallMilliseconds - keys.firstSeen
            let isNew = keys.hasEarlierKey && age < Int64(rule.windowNanoseconds / 1_000_000)
            facts.found(isNew ? 1 : 0, by: rule.rule)
        }
    }

    /// Judges a request to enrol a key.
    func judgeAttestation() throws(Refusal) {
        guard let rules = site.signals, let rule = rules.addressAttestations,
            let network = countedNetwork
        else { return }
        var facts = SignalFacts()
        // This enrolment would be one more.
        facts.found(count(.look, of: .network(network), rule).after + 1, by: rule.rule)
        try judge(facts) { exchange.peerText }
    }

    /// Judges the enrolment of a key under a certificate of a verified chain.
    func judgeEnrolment(under certificate: AttestationCertificate?) throws(Refusal) {
        guard let certificate, let rule = site.signals?.certificateKeys else { return }
        var facts = state.judgement.signals ?? SignalFacts()
        // This enrolment would be one more.
        facts.found(count(.look, of: certificate, rule).after + 1, by: rule.rule)
        try judge(facts) { certificate.logText }
    }

    /// Judges an enrolment with a ticket.
    func judgeSuccession(_ claim: SuccessionClaim) throws(Refusal) {
        guard let rule = site.signals?.installationSuccessions else { return }
        var facts = state.judgement.signals ?? SignalFacts()
        // This enrolment would be one more.
        facts.found(count(.look, of: claim, rule).after + 1, by: rule.rule)
        try judge(facts) { logText(of: claim) }
    }

    /// Judges the enrolment of a key whose device has these bits.
    func judgeEnrolment(_ bits: DeviceBits) throws(Refusal) {
        guard let rules = site.signals, let bitRules = rules.deviceBits else { return }
        var facts = state.judgement.signals ?? SignalFacts()
        judge(bits, bitRules, &facts) { $0 + 1 }
        try judge(facts) { exchange.peerText }
    }

    /// Judges the device's bits. `number` turns the count of enrolled keys into the one to judge.
    private func judge(
        _ bits: DeviceBits, _ rules: SiteSignals.DeviceBitRules, _ facts: inout SignalFacts,
        _ number: (Int) -> Int
    ) {
        for index in rules.rules.indices where bits[index] {
            guard let rule = rules.rules[index] else { continue }
            facts.found(number(count(.look, of: .deviceBit(index), rule).after), by: rule.rule)
        }
    }

    /// Counts an enrolled key.
    func count(_ enrolment: PendingEnrolment) {
        guard let rules = site.signals else { return }
        if let bits = enrolment.record.deviceBits, let rules = rules.deviceBits {
            countKey(bits, rules)
        }
        if let certificate = enrolment.attestationCertificate, let rule = rules.certificateKeys {
            let counts = count(.once, of: certificate, rule)
            reportRaised(
                rule, counts, { "\(certificate.logText) has enrolled \(counts.after) keys" })
        }
        if let claim = enrolment.ticket.claim, let rule = rules.installationSuccessions {
            let counts = count(.once, of: claim, rule)
            reportRaised(
                rule, counts,
                { "\(logText(of: claim)) has \(counts.after) enrolments with tickets" })
        }
        if let rule = rules.addressAttestations, let network = countedNetwork {
            let counts = count(.once, of: .network(network), rule)
            reportRaised(rule, counts, { "\(exchange.peerText) has enrolled \(counts.after) keys" })
        }
    }

    private func countKey(_ bits: DeviceBits, _ rules: SiteSignals.DeviceBitRules) {
        for index in rules.rules.indices where bits[index] {
            guard let rule = rules.rules[index] else { continue }
            let counts = count(.once, of: .deviceBit(index), rule)
            reportRaised(rule, counts, { "\(counts.after) keys of such devices were enrolled" })
        }
    }

    /// Counts a conflict: a counter of the key came again with another challenge.
    func countConflict(of keyID: KeyID) {
        guard let rule = site.signals?.keyConflicts else { return }
        let counts = count(.once, of: .key(keyID), rule)
        reportRaised(rule, counts, { "\(site.logName(of: keyID)) has \(counts.after) conflicts" })
    }

    private func count(
        _ event: SignalEvent, of subject: SignalSubject, _ rule: SiteSignals.Rule
    ) -> TallyChange { services.count(event, of: subject, rule, site) }

    private func count(
        _ event: SignalEvent, of certificate: AttestationCertificate, _ rule: SiteSignals.Rule
    ) -> TallyChange {
        services.count(
            event, of: .certificate(certificate.keyDigest), rule, site,
            holder: certificate.logText)
    }

    private func count(
        _ event: SignalEvent, of claim: SuccessionClaim, _ rule: SiteSignals.Rule
    ) -> TallyChange {
        services.count(
            event, of: .installation(claim.installation), rule, site, holder: logText(of: claim))
    }

    /// The installation in the event log, by the key that the ticket was given to.
    private func logText(of claim: SuccessionClaim) -> String {
        "the installation of \(site.logName(of: claim.predecessor))"
    }

    /// Judges the facts, and counts each signal that they raise for the first time.
    ///
    /// A refused request is not counted, so its signal never crosses a bound. The log therefore
    /// gets every refusal here, with the names of the signals and the suspect.
    private func judge(
        _ facts: SignalFacts, isTrial: Bool = false, _ suspect: () -> String
    ) throws(Refusal) {
        for rule in facts.raised.dropFirst(state.judgement.signals?.raised.count ?? 0) {
            services.meter.raised(rule.signal)
        }
        do throws(Refusal) {
            try settle(try state.judgement.judge(facts, isTrial: isTrial))
        } catch {
            let names = facts.raised.map(\.name).joined(separator: ", ")
            services.log.repeatedEvent("signal_raised", "\(names): \(suspect()) is to be refused")
            throw error
        }
    }

    /// Logs a raised signal once, when its count crosses the bound.
    func reportRaised(
        _ rule: SiteSignals.Rule, _ counts: TallyChange, _ text: () -> String
    ) {
        guard counts.before <= rule.countMax, counts.after > rule.countMax else { return }
        services.log.event("signal_raised", "\(rule.name): \(text())")
    }

    // MARK: the user

    /// Notes the user whom an accepted request names, if the rules believe its sender.
    func noteRequestUser() {
        guard let rules = site.signals, let keyID = exchange.provenKeyID,
            let name = requestUserName(rules)
        else { return }
        note(headBytes.span.extracting(name), keyID, rules)
    }

    /// The user's name in the request; nil unless the rules believe a trusted peer or the client.
    func requestUserName(_ rules: SiteSignals) -> Range32? {
        guard let names = rules.userHeader else { return nil }
        let found: RequestIntake.UniqueField
        switch rules.userSource {
        case .response: return nil
        case .proxy:
            guard client.isPeerTrusted else { return nil }
            // The proxy has replaced this name; the client may have sent it in other spellings.
            found = intake.uniqueField(names, spelled: rules.userHeaderName)
        case .client: found = intake.uniqueField(names)
        }
        guard case .value(let range) = found,
            (1...Self.userNameByteCountMax).contains(Int(range.count))
        else { return nil }
        return range
    }

    /// Notes the user whom the upstream's answer names.
    func noteResponseUser(_ response: borrowing ResponseHead, bytes: Span<UInt8>) {
        guard let rules = site.signals, rules.userSource == .response,
            let names = rules.userHeader, let keyID = exchange.provenKeyID
        else { return }
        var found: Range32?
        for field in response.fields where names.contains(bytes.extracting(field.name)) {
            // Two names count as none.
            guard found == nil else { return }
            found = field.value
        }
        if let found { note(bytes.extracting(found), keyID, rules) }
    }

    private func note(_ name: Span<UInt8>, _ keyID: KeyID, _ rules: SiteSignals) {
        guard !name.isEmpty, name.count <= Self.userNameByteCountMax else { return }
        let user = site.pseudonyms.pseudonym(ofUser: name)
        if rules.userSource == .response { countKeyUser(user, of: keyID, rules) }
        guard services.hub.signals.shouldNote(user, of: keyID, now: services.signalTime) else {
            return
        }
        services.note(user, of: keyID, rules)
    }

    /// No account's number, name or mail address is longer.
    static let userNameByteCountMax = 512

    /// Continues with the registry's answer to ``WorkerServices/lookUpUser(for:_:)``, or
    /// without one after the time-out. Then the user stays unknown, because no route depends on
    /// signals.
    func userWasLookedUp() {
        exchange.resume { () throws(Refusal) in
            try prover.satisfyJudgement { () throws(Refusal) in
                if let keyID = prover.proofFacts.keyID, let rules = site.signals {
                    try judgeSignals(of: keyID, userKeys(of: keyID, rules) ?? nil, rules)
                }
                state.judgement.met(.signals)
                return .next
            }
        }
    }
}

extension AttestationCertificate {
    /// The certificate in the event log, by the number that revocation lists give it.
    fileprivate var logText: String { "the attestation certificate \(serial)" }
}
