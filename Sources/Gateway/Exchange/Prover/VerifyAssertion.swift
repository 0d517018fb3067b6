import Attestation
import Judgement
import KeyStore
import Settings

extension Prover {
    /// Does every check that needs only this request and its key. Counters are not touched.
    func verifyAssertion() throws(Refusal) -> Step {
        try satisfyJudgement()
    }

    /// Takes the record of the proof's key: at once if the worker has it, or else from the
    /// registry.
    func findKey() throws(Refusal) -> Step {
        guard let keyID = state.proofFacts.keyID else {
            throw Refusal(.internalFailure, .undecided)
        }
        if let known = services.keyCache.find(keyID) {
            use(known, asOf: services.floorNewsNumber)
        } else if services.isUnknown(keyID) {
            use(nil, asOf: 0)
        } else {
            try services.lookUpKey(for: exchange, keyID, as: .key)
            return .wait
        }
        judge.met(.key)
        return .next
    }

    /// Throws unless the key that was looked up may send requests. It reads only the fields that it
    /// needs, because a record is large to copy.
    func checkKey() throws(Refusal) {
        guard let status = state.known.key?.status, let environment = state.known.key?.environment
        else {
            throw Refusal(.keyUnknown)
        }
        switch status {
        case .active: break
        case .revoked:
            guard state.known.key?.succession?.isRetired == true else {
                throw Refusal(.keyRevoked)
            }
            // No operator has barred it. If its ticket was stolen, its app must get another key.
            throw Refusal(.keyRevoked, .succeeded, action: .attestAgain)
        case .erased: throw Refusal(.keyUnknown, .erased)
        }
        guard state.known.app?.environments.contains(environment) == true else {
            throw Refusal(.keyUnknown, .appNotConfigured)
        }
        guard site === services.site || isOfOwnSite(environment) else {
            throw Refusal(.gatewayBusy, .appNewer)
        }
    }

    /// True if this exchange's own configuration, which a reload has replaced, accepts such keys.
    /// An app that the reload has added belongs to the new configuration, and no route here says
    /// whether it is for that app. A request that is sent again is judged by the new one, so that
    /// no app gives up its key.
    private func isOfOwnSite(_ environment: AttestEnvironment) -> Bool {
        site.settings.apps.contains {
            $0.id == state.known.app?.id && $0.environments.contains(environment)
        }
    }

    /// Takes the key's record, nil if there is none, and the app that the key was enrolled for.
    func use(_ found: CachedKey?, asOf newsNumber: UInt64) {
        state.known.key = found
        state.known.floorNewsNumber = newsNumber
        // The index is into the worker's table, as the record is. A reload may have replaced the
        // table since.
        let apps = services.site.settings.apps
        let index = found?.appIndex.flatMap { $0 < apps.count ? $0 : nil }
        state.known.app = index.map { apps[$0] }
    }

    /// Continues with the registry's answer to ``WorkerServices/lookUpKey(for:_:as:)``.
    func keyWasLookedUp(_ result: Result<CachedKey?, StoreError>, asOf newsNumber: UInt64) {
        if case .inquiredKey = exchange.awaited {
            guard case .success(let found) = result else { return adminDesk.registryFailed() }
            use(found, asOf: newsNumber)
            return exchange.resume { () throws(Refusal) in try adminDesk.askAboutInquiredDevice() }
        }
        if case .enrolledKey = exchange.awaited { return endpoints.enrolAgain(result) }
        exchange.resume { () throws(Refusal) in
            try satisfyJudgement { () throws(Refusal) in
                switch result {
                case .success(let found):
                    use(found, asOf: newsNumber)
                    // If a counter's floor was too old, the need is still the counter, so this
                    // changes nothing.
                    judge.met(.key)
                    return .next
                case .failure(let error): throw Refusal(error)
                }
            }
        }
    }
}
