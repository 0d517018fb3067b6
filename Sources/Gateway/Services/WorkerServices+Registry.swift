import Attestation
import Bytes
import EventLoop
import Judgement
import KeyStore
import Settings

/// The questions to the registry, and its replies.
extension WorkerServices {
    func waitForRegistry(_ request: any WaitingRequest, for reply: Awaited) throws(Refusal) {
        try requirePlaceInRegistry()
        beginWaiting(request, for: reply)
    }

    func beginWaiting(_ request: any WaitingRequest, for reply: Awaited) {
        waiting.wait(request, for: reply, withinNanoseconds: request.site.timeouts.registry)
    }

    private func requirePlaceInRegistry() throws(Refusal) {
        guard waiting.count + lookUps.count < site.settings.limits.registryQueueCountMax else {
            throw Refusal(.gatewayBusy, .registryQueue)
        }
    }

    /// True if the registry has just said that it does not know the key.
    func isUnknown(_ keyID: KeyID) -> Bool {
        remembersUnknownKeys && hub.unknownKeys.contains(keyID, at: loop.now)
    }

    /// True if unknown keys are remembered: only embedded counters rule out another gateway.
    private var remembersUnknownKeys: Bool {
        guard case .sqlite = site.settings.registry else { return false }
        return if case .embedded = site.settings.counters { true } else { false }
    }

    func lookUpKey(
        for request: any WaitingRequest, _ keyID: KeyID, as reply: Awaited
    ) throws(Refusal) {
        try requirePlaceInRegistry()
        request.awaited = reply
        let question = question(about: keyID, number: request.number)
        lookUps.add(LookUp(question: question, request: request, startedAt: loop.now))
    }

    private func question(about keyID: KeyID, number: UInt64) -> KeyQuestion {
        KeyQuestion(
            number: number, keyID: keyID, changeCount: changes.count,
            newsCount: hub.unknownKeys.newsCount, floorNewsNumber: hub.floors.newsNumber)
    }

    /// Takes an answer of the registry's thread.
    func keyWasLookedUp(_ question: KeyQuestion, _ result: Result<KeyRecord?, StoreError>) {
        keyWasLookedUp(LookUp(question: question, request: nil, startedAt: loop.now), result)
    }

    func keyWasLookedUp(_ lookUp: LookUp, _ result: Result<KeyRecord?, StoreError>) {
        let question = lookUp.question
        // Whatever the answer is, the registry is there.
        if case .success = result { registryAnsweredAt = loop.now }
        // A record that was read before a change that was heard of meanwhile may be outdated, and
        // nothing would ever drop it from the cache.
        guard !changes.hasChanged(question.keyID, since: question.changeCount) else {
            if isAwaited(lookUp) {
                lookUps.add(
                    LookUp(
                        question: self.question(about: question.keyID, number: question.number),
                        request: lookUp.request, startedAt: lookUp.startedAt))
            }
            return
        }
        let record: KeyRecord?
        switch result {
        case .success(let found):
            record = found
        case .failure(let error):
            log.repeatedEvent("registry_failed", error.description)
            take(lookUp)?.keyWasLookedUp(.failure(error), asOf: 0)
            return
        }
        // Unknown keys are not cached, so that strangers cannot push out known ones.
        var cached: CachedKey?
        if let record {
            // A record whose floor was raised meanwhile is good for this request, which says how
            // old it is, and not for those to come. The same holds for a record whose revocation
            // would not be heard of.
            let isCurrent =
                question.floorNewsNumber >= floorNewsNumber && registry.hearing?.isExpired != true
            cached = isCurrent ? keyCache.insert(record) : keyCache.view(of: record)
        } else if remembersUnknownKeys {
            hub.unknownKeys.note(question.keyID, newsCount: question.newsCount, at: loop.now)
        }
        take(lookUp)?.keyWasLookedUp(.success(cached), asOf: question.floorNewsNumber)
    }

    private func isAwaited(_ lookUp: LookUp) -> Bool {
        lookUp.request == nil
            ? waiting.contains(lookUp.question.number, for: .find) : !lookUp.isLeft
    }

    /// The request that still waits for this answer.
    private func take(_ lookUp: LookUp) -> (any WaitingRequest)? {
        guard let request = lookUp.request else {
            return waiting.take(lookUp.question.number, for: .find)
        }
        guard !lookUp.isLeft else { return nil }
        meter.storeAnswered(.find, nanoseconds: loop.now.nanoseconds(since: lookUp.startedAt))
        return request
    }

    func advanceDurably(
        for request: any WaitingRequest, _ keyID: KeyID, _ counter: UInt32
    ) throws(Refusal) {
        try waitForRegistry(request, for: .durableCounter)
        let number = request.number
        let mailbox = mailbox
        registry.advanceDurably(keyID, counter: counter) { result in
            _ = mailbox.post(.advancedDurably(number, result))
        }
    }

    func enrol(
        _ request: any WaitingRequest, _ record: KeyRecord, challenge: Bytes16,
        succeeding claim: SuccessionClaim?
    ) throws(Refusal) {
        try waitForRegistry(request, for: .enrolment)
        let number = request.number
        let mailbox = mailbox
        registry.enrol(record, challenge: challenge, succeeding: claim) { [hub] result in
            // Here, since the client may not wait for the answer any more. The key is in the
            // registry.
            if case .success = result { hub.unknownKeys.forget(.keys([record.keyID])) }
            _ = mailbox.post(.enrolled(number, result))
        }
    }
}
