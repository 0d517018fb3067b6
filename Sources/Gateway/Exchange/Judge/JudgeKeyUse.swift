import Attestation
import Bytes
import EventLoop
import HTTP
import Judgement
import KeyStore

/// The signs of a device that signs for many: the users, addresses and networks in its key's
/// requests, and the signatures that this gateway never received.
///
/// Only accepted requests count. A sender of a captured request therefore cannot raise a signal
/// against its key, and a refused request changes nothing. The request itself is judged as if it
/// had been counted already.
extension Judge {
    func judgeKeyUse(of keyID: KeyID, _ rules: SiteSignals, _ facts: inout SignalFacts) {
        let marks = findKeyUseMarks(rules)
        if let rule = rules.keyUsers { judge(marks.user, of: keyID, rule, &facts) }
        if let rule = rules.keyAddresses, let address = marks.address {
            judge(address, of: keyID, rule, &facts)
        }
        if let rule = rules.keyNetworks, let network = marks.network {
            judge(network, of: keyID, rule, &facts)
        }
        if let rule = rules.counterGaps {
            let count = services.hub.signals.gapCount(of: .key(keyID), now: services.signalTime)
            facts.found(count, by: rule.rule)
        }
    }

    private func judge(
        _ hash: UInt64?, of keyID: KeyID, _ rule: SiteSignals.Rule, _ facts: inout SignalFacts
    ) {
        let count = services.hub.signals.expected(
            hash, of: .key(keyID), for: rule.signal, now: services.signalTime)
        facts.found(count, by: rule.rule)
    }

    /// Counts an accepted request.
    func countKeyUse() {
        guard let rules = site.signals, let keyID = exchange.provenKeyID else { return }
        let marks = findKeyUseMarks(rules)
        if let rule = rules.keyUsers, let user = marks.user { count(user, of: keyID, rule) }
        if let rule = rules.keyAddresses, let address = marks.address {
            count(address, of: keyID, rule)
        }
        if let rule = rules.keyNetworks, let network = marks.network {
            count(network, of: keyID, rule)
        }
        if let rule = rules.counterGaps, case .assertion(let proof) = prover.proof,
            let counter = proof.claim?.counter
        {
            let change = services.count(accepted: counter, of: keyID, rule, site)
            if let change { report(change, of: keyID, rule) }
        }
    }

    /// Counts the user whom the upstream has named for an accepted request.
    func countKeyUser(_ user: UserPseudonym, of keyID: KeyID, _ rules: SiteSignals) {
        guard let rule = rules.keyUsers, case .user = rules.keyUserMark else { return }
        count(user.value.word0, of: keyID, rule)
    }

    private func count(_ hash: UInt64, of keyID: KeyID, _ rule: SiteSignals.Rule) {
        report(services.count(.distinct(hash), of: .key(keyID), rule, site), of: keyID, rule)
    }

    private func report(_ change: TallyChange, of keyID: KeyID, _ rule: SiteSignals.Rule) {
        reportRaised(rule, change, { "\(site.logName(of: keyID)) has \(change.after)" })
    }

    /// The hashes to count by. Each costs one hash or more, so they are computed once per request.
    private func findKeyUseMarks(_ rules: SiteSignals) -> KeyUseMarks {
        if let keyUseMarks = state.keyUseMarks { return keyUseMarks }
        var marks = KeyUseMarks()
        if rules.keyUsers != nil { marks.user = requestUser(rules) }
        if rules.keyAddresses != nil || rules.keyNetworks != nil,
            let address = intake.origin?.address.ipv6Form
        {
            let pseudonyms = site.pseudonyms
            if rules.keyAddresses != nil {
                marks.address = pseudonyms.hash(ofNetwork: address.limitedNetwork)
            }
            if rules.keyNetworks != nil {
                marks.network = pseudonyms.hash(ofNetwork: address.providerNetwork)
            }
        }
        state.keyUseMarks = marks
        return marks
    }

    // MARK: the user

    /// How many values of a field are hashed one by one. The rest is hashed as one value, so that
    /// many short values cost no more than their bytes.
    private static let valueCountMax = 4

    /// A hash of the user whom the request names; nil if it names none or the upstream has to.
    private func requestUser(_ rules: SiteSignals) -> UInt64? {
        switch rules.keyUserMark {
        case .user:
            guard let name = requestUserName(rules) else { return nil }
            return site.pseudonyms.pseudonym(ofUser: headBytes.span.extracting(name)).value.word0
        case .header(let names):
            let bytes = headBytes.span
            var hash: UInt64?
            for field in head.fields where names.contains(bytes.extracting(field.name)) {
                add(bytes.extracting(field.value), to: &hash)
            }
            return hash
        case .cookie(let name):
            let bytes = headBytes.span
            var hash: UInt64?
            for field in head.fields where field.known == .cookie {
                let cookies = bytes.extracting(field.value)
                var (offset, count) = (0, 0)
                while let value = Cookie.nextValue(named: name, in: cookies, after: &offset) {
                    count += 1
                    guard count < Self.valueCountMax else {
                        add(cookies.extracting(value.lowerBound..<cookies.count), to: &hash)
                        break
                    }
                    add(cookies.extracting(value), to: &hash)
                }
            }
            return hash
        }
    }

    /// Mixes a value into the hash of those before it, so that a second value cannot hide the
    /// first.
    private func add(_ value: Span<UInt8>, to hash: inout UInt64?) {
        guard !value.isEmpty else { return }
        hash = KeyHash.mixed(hash ?? 0) ^ site.pseudonyms.pseudonym(ofUser: value).value.word0
    }
}
