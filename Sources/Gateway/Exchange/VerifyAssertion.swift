import AppAttest
import Bytes
import GatewayTokens
import HTTP
import KeyStore
import Policy
import Settings

extension Exchange {
    /// Checks everything that one request can be checked for alone; counters are not touched.
    ///
    /// Cheap checks come first: a flood without a fresh challenge of ours costs a MAC each, not a
    /// signature.
    func verifyAssertion() throws(Refusal) -> Step {
        if let endpoint, endpoint != .assertToken { return try answerEndpoint() }
        if let inquiry { return try go(on: inquiry) }
        guard decision == .undecided else { return .next }
        if bringsToken { return try verifyToken() }
        if device != nil { return try verifyDevice() }
        do throws(Refusal) {
            let evidence = try checkedEvidence()
            guard try findKey(evidence.keyID) else { return .wait }
            if verified == nil {
                let proof = try verifySignature(evidence)
                // Nothing of the body is read for strangers, nor is anything spent on a bad one.
                if endpoint == .assertToken { tokenAudience = try requestedAudience() }
                verified = proof
            }
            if endpoint == .assertToken { try narrowAudience() }
            guard try judgeSignals(of: evidence.keyID) else { return .wait }
            try meetStandard(.attested)
        } catch {
            try refuseOrObserve(error)
        }
        return .next
    }

    /// The evidence, once gathered and bound to this request and its challenge.
    private func checkedEvidence() throws(Refusal) -> Evidence {
        if let evidence { return evidence }
        let gathered = try gatherEvidence()
        evidence = gathered
        if let challenge = gathered.challenge { try check(challenge, for: gathered.keyID) }
        if let clientData = gathered.clientData { try check(clientData) }
        return gathered
    }

    private func check(_ challenge: Challenge, for keyID: KeyID) throws(Refusal) {
        guard challenge.purpose == .assertion else {
            throw Refusal(.challengeExpired, .purpose)
        }
        guard challenge.keyID == nil || challenge.keyID == keyID else {
            throw Refusal(.challengeExpired, .otherKey)
        }
        let now = worker.counters.moment(keyID: challenge.keyID, challenge: challenge.id)
        guard let now else { throw Refusal(.storeUnavailable, .counters) }
        // First: its end is by the clock of its own incarnation.
        guard challenge.incarnation == now.incarnation else {
            throw Refusal(.challengeExpired, .incarnation)
        }
        guard challenge.remainingMilliseconds(at: now.milliseconds) != nil else {
            throw Refusal(.challengeExpired, .age)
        }
    }

    /// The client data must speak of this very request.
    private func check(_ clientData: RequestClientData) throws(Refusal) {
        let bytes = headBytes.span
        let mismatch = clientData.check(
            method: bytes.extracting(head.method),
            target: bytes.extracting(head.originTarget), bodyDigest: bodyDigest)
        guard let mismatch else { return }
        throw Refusal(
            mismatch == .body ? .bodyMismatch : .requestMismatch, .clientDataMismatch(mismatch))
    }

    private func verifySignature(_ evidence: Evidence) throws(Refusal) -> VerifiedAssertion {
        let (key, app) = try usableKey()
        do throws(AssertionFailure) {
            return try worker.verifier.verify(
                evidence.assertion.span, clientDataHash: evidence.clientDataHash,
                publicKey: key.publicKey, rpIDHash: app.rpIDHash)
        } catch {
            if case .malformed = error {
                throw Refusal(.assertionMalformed, .assertionFailed(error))
            }
            throw Refusal(.assertionInvalid, .assertionFailed(error))
        }
    }

    /// False while the registry is asked.
    func findKey(_ keyID: KeyID) throws(Refusal) -> Bool {
        guard !isKeyLookedUp else { return true }
        if let known = worker.keyCache.find(keyID) {
            use(known, asOf: worker.floorNewsNumber)
        } else if worker.isUnknown(keyID) {
            use(nil, asOf: 0)
        } else {
            try worker.lookUpKey(for: self, keyID)
            return false
        }
        return true
    }

    /// The key that was looked up and the app that it is for, where requests may be from them.
    func usableKey() throws(Refusal) -> (CachedKey, AppIdentity) {
        guard let key else { throw Refusal(.keyUnknown) }
        switch key.status {
        case .active: break
        case .revoked: throw Refusal(.keyRevoked)
        case .erased: throw Refusal(.keyUnknown, .erased)
        }
        guard let app, app.environments.contains(key.environment) else {
            throw Refusal(.keyUnknown, .appNotConfigured)
        }
        guard isOfOwnSite(app, key.environment) else {
            throw Refusal(.gatewayBusy, .appNewer)
        }
        return (key, app)
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
        isKeyLookedUp = true
        key = found
        floorNewsNumber = newsNumber
        // By the worker's table, as the record is: a reload may have put in another than ours.
        let apps = worker.site.settings.apps
        guard let index = found?.appIndex, index < apps.count else { return }
        app = apps[index]
    }

    /// The registry's answer to ``Worker/lookUpKey(for:_:)``.
    func keyWasLookedUp(_ result: Result<CachedKey?, StoreError>, asOf newsNumber: UInt64) {
        switch result {
        case .success(let found):
            use(found, asOf: newsNumber)
            resume()
        case .failure(let error):
            if inquiry != nil { return registryFailed() }
            do throws(Refusal) {
                try refuseOrObserve(Refusal(error))
                phase = .rewriteHeaders
                resume()
            } catch {
                refuse(error)
            }
        }
    }
}
