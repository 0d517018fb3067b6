import Attestation
import Bytes
import EventLoop
import Judgement
import KeyStore
import Settings

/// The questions to the registry, and its replies.
extension WorkerServices {
    func waitForRegistry(_ request: any WaitingRequest, for reply: Awaited) throws(Refusal) {
        guard waiting.count < site.settings.limits.registryQueueCountMax else {
            throw Refusal(.gatewayBusy, .registryQueue)
        }
        waiting.wait(request, for: reply, withinNanoseconds: request.site.timeouts.registry)
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
        try waitForRegistry(request, for: reply)
        find(keyID, for: request.number)
    }

    private func find(_ keyID: KeyID, for number: UInt64) {
        lookUps.add(
            KeyQuestion(
                number: number, keyID: keyID, changeCount: changes.count,
                newsCount: hub.unknownKeys.newsCount, floorNewsNumber: hub.floors.newsNumber))
    }

    func keyWasLookedUp(_ question: KeyQuestion, _ result: Result<KeyRecord?, StoreError>) {
        let number = question.number
        // Whatever the answer is, the registry is there.
        if case .success = result { registryAnsweredAt = loop.now }
        // A record that was read before a change that was heard of meanwhile may be outdated, and
        // nothing would ever drop it from the cache.
        guard !changes.hasChanged(question.keyID, since: question.changeCount) else {
            if waiting.contains(number, for: .find) { find(question.keyID, for: number) }
            return
        }
        let record: KeyRecord?
        switch result {
        case .success(let found):
            record = found
        case .failure(let error):
            log.repeatedEvent("registry_failed", error.description)
            waiting.take(number, for: .find)?.keyWasLookedUp(.failure(error), asOf: 0)
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
        waiting.take(number, for: .find)?
            .keyWasLookedUp(.success(cached), asOf: question.floorNewsNumber)
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
