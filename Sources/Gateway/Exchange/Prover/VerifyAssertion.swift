import AppAttest
import Judgement
import KeyStore
import Settings

extension Prover {
    /// Checks everything that one request can be checked for alone; counters are not touched.
    func verifyAssertion() throws(Refusal) -> Step {
        try satisfyJudgement()
    }

    /// Takes the record of the proof's key, at once where the worker has it.
    func findKey() throws(Refusal) -> Step {
        guard let keyID = proofFacts.keyID else { throw Refusal(.internalFailure, .undecided) }
        if let known = worker.keyCache.find(keyID) {
            use(known, asOf: worker.floorNewsNumber)
        } else if worker.isUnknown(keyID) {
            use(nil, asOf: 0)
        } else {
            try worker.lookUpKey(for: exchange, keyID, as: .key)
            return .wait
        }
        judge.met(.key)
        return .next
    }

    /// The key that was looked up and the app that it is for, where requests may be from them.
    func usableKey() throws(Refusal) -> (CachedKey, AppIdentity) {
        try checkKey()
        guard let key = known.key, let app = known.app else { throw Refusal(.keyUnknown) }
        return (key, app)
    }

    /// Throws unless requests may be from the key that was looked up. It reads what it needs alone:
    /// a record is large to copy.
    func checkKey() throws(Refusal) {
        guard let status = known.key?.status, let environment = known.key?.environment else {
            throw Refusal(.keyUnknown)
        }
        switch status {
        case .active: break
        case .revoked: throw Refusal(.keyRevoked)
        case .erased: throw Refusal(.keyUnknown, .erased)
        }
        guard let app = known.app, app.environments.contains(environment) else {
            throw Refusal(.keyUnknown, .appNotConfigured)
        }
        guard isOfOwnSite(app, environment) else { throw Refusal(.gatewayBusy, .appNewer) }
    }

    /// Whether this exchange's own configuration takes such keys: one that a reload has added since
    /// is another's, and no route here says whether it is for its app. Sent again it is judged by
    /// the new one, so that no key is given up for it.
    private func isOfOwnSite(_ app: AppIdentity, _ environment: AttestEnvironment) -> Bool {
        site === worker.site
            || site.settings.apps.contains {
                $0.id == app.id && $0.environments.contains(environment)
            }
    }

    /// Takes the key's record, nil where there is none, and the app that it was enrolled for.
    func use(_ found: CachedKey?, asOf newsNumber: UInt64) {
        known.key = found
        known.floorNewsNumber = newsNumber
        // By the worker's table, as the record is: a reload may have put in another than ours.
        let apps = worker.site.settings.apps
        guard let index = found?.appIndex, index < apps.count else { return }
        known.app = apps[index]
    }

    /// The registry's answer to ``Worker/lookUpKey(for:_:as:)``.
    func keyWasLookedUp(_ result: Result<CachedKey?, StoreError>, asOf newsNumber: UInt64) {
        if case .inquiredKey = exchange.awaited {
            guard case .success(let found) = result else { return adminDesk.registryFailed() }
            use(found, asOf: newsNumber)
            return exchange.resume { () throws(Refusal) in try adminDesk.askAboutInquiredDevice() }
        }
        exchange.resume { () throws(Refusal) in
            try satisfyJudgement { () throws(Refusal) in
                switch result {
                case .success(let found):
                    use(found, asOf: newsNumber)
                    // A counter's floor that was too old is asked for while the counter is needed.
                    judge.met(.key)
                    return .next
                case .failure(let error): throw Refusal(error)
                }
            }
        }
    }
}
