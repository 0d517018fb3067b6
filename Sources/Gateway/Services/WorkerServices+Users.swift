import Attestation
import EventLoop
import Judgement
import KeyStore

/// Asks the registry for the users of keys, and tells it new uses.
extension WorkerServices {
    /// Asks for the key's user. The request goes on with the answer, or when its time is over.
    func lookUpUser(for request: any WaitingRequest, _ keyID: KeyID) throws(Refusal) {
        guard let rules = request.site.signals else { return }
        try waitForRegistry(request, for: .user)
        ask(keyID, rules, for: request.number)
    }

    /// Asks for the key's users again. No request waits for the answer.
    func refreshUser(of keyID: KeyID, _ rules: SiteSignals) { ask(keyID, rules, for: nil) }

    private func ask(_ keyID: KeyID, _ rules: SiteSignals, for number: UInt64?) {
        let mailbox = mailbox
        let since = rules.usersCountedSince(wallMilliseconds)
        registry.findUser(of: keyID, countedSince: since) { result in
            _ = mailbox.post(.userLookedUp(number, keyID, result))
        }
    }

    func userWasLookedUp(
        _ number: UInt64?, _ keyID: KeyID, _ result: Result<UserKeys?, StoreError>
    ) {
        switch result {
        case .success(let keys): hub.signals.remember(keys, of: keyID, now: signalTime)
        case .failure(let error): log.repeatedEvent("registry_failed", error.description)
        }
        if let number { waiting.take(number, for: .findUser)?.userWasLookedUp() }
    }

    /// Has the registry write down that the key is used for `user`.
    func note(_ user: UserPseudonym, of keyID: KeyID, _ rules: SiteSignals) {
        let sighting = KeySighting(
            keyID: keyID, user: user, milliseconds: wallMilliseconds,
            countedSince: rules.usersCountedSince(wallMilliseconds))
        let mailbox = mailbox
        registry.note(sighting) { result in
            _ = mailbox.post(.userNoted(sighting, result))
        }
    }

    func userWasNoted(_ sighting: KeySighting, _ result: Result<UserKeys?, StoreError>) {
        let keys: UserKeys?
        switch result {
        case .success(let noted): keys = noted
        case .failure(let error): return log.repeatedEvent("registry_failed", error.description)
        }
        hub.signals.remember(keys, of: sighting.keyID, now: signalTime)
        // The key is new for the user if it was first seen just now.
        guard let keys, keys.firstSeen == sighting.milliseconds, keys.hasEarlierKey else { return }
        meter.add(.newUserKeys)
        let name = site.logName(of: sighting.keyID)
        if let rule = site.signals?.userKeys, keys.keyCount == rule.countMax + 1 {
            log.event(
                "signal_raised",
                "\(rule.name): a user has \(keys.keyCount) keys, the last one \(name)")
        }
        if let rule = site.signals?.newUserKey {
            log.event("signal_raised", "\(rule.name): a user who had another key has \(name)")
        }
    }
}
