import Attestation
import Bytes
import GatewayTokens
import HTTP
import Judgement
import KeyStore
import Policy
import Settings

/// Assertions are read and bound to their request before any store is asked.
///
/// Cheap checks come first, so that a flood without a fresh challenge of the gateway costs one MAC
/// per request, not a signature.
extension AssertionProver {
    /// Gathers the evidence and binds it to this request and its challenge.
    func readAssertion() throws(Refusal) -> Step {
        let (evidence, clientData) = try gatherEvidence()
        prover.take(.read(evidence))
        if let challenge = evidence.challenge {
            if try isEarly(challenge, for: evidence.keyID) { return .wait }
            try check(challenge)
        }
        if let clientData { try check(clientData) }
        return .next
    }

    /// Continues with what the gateway knows now of the counter store's incarnation.
    func incarnationWasLookedUp() {
        exchange.resume { () throws(Refusal) in
            try prover.satisfyJudgement { () throws(Refusal) in
                let (evidence, clientData) = try gatherEvidence()
                if let challenge = evidence.challenge { try check(challenge) }
                if let clientData { try check(clientData) }
                judge.met(.evidence)
                return .next
            }
        }
    }

    /// Has the signature checked at the end of the turn, by the key that was looked up.
    func verify(_ evidence: Evidence) throws(Refusal) -> Step {
        try prover.checkKey()
        guard let publicKey = prover.known.key?.publicKey,
            let appDigest = prover.known.app?.idDigest,
            let platform = prover.known.app.flatMap({ site.platforms[$0.platform] })
        else { throw Refusal(.keyUnknown, .appNotConfigured) }
        do throws(PlatformFailure) {
            let request = try platform.unverified(
                evidence.assertion, clientDataHash: evidence.clientDataHash,
                publicKey: publicKey)
            services.verifiers.queue.add(
                exchange, SignatureBatch.Entry(request, on: platform, appDigest: appDigest))
        } catch {
            throw Self.refusal(of: error)
        }
        exchange.awaited = .signature
        return .wait
    }

    /// Continues with the verdict of the worker's ``SignatureQueue``.
    func signatureWasChecked(_ outcome: SignatureBatch.Outcome) {
        exchange.resume { () throws(Refusal) in
            try prover.satisfyJudgement { () throws(Refusal) in
                guard case .assertion(.read(let evidence)) = prover.proof else {
                    throw Refusal(.internalFailure, .undecided)
                }
                switch outcome {
                case .success(let request): try take(request, evidence)
                case .failure(let failure): throw Self.refusal(of: failure)
                }
                judge.met(.authenticity)
                return .next
            }
        }
    }

    private func take(
        _ request: VerifiedRequest, _ evidence: Evidence
    ) throws(Refusal) {
        // Nothing else stops the replay of a key that does not count.
        if request.facts.uniqueness.counter == nil, policy.challenge == .off {
            throw Refusal(.challengeRequired)
        }
        // A stranger's body is not parsed, and a bad body spends nothing.
        if match.endpoint == .assertToken {
            try endpoints.readAudience()
        }
        prover.take(
            .verified(
                AssertionClaim(
                    keyID: evidence.keyID, challenge: evidence.challenge, request: request)))
        if match.endpoint == .assertToken { try endpoints.narrowAudience() }
    }

    /// True if the exchange waits for the counter store's incarnation, because `challenge` names
    /// one that this worker has not heard of.
    private func isEarly(_ challenge: Challenge, for keyID: KeyID) throws(Refusal) -> Bool {
        guard challenge.purpose == .assertion else {
            throw Refusal(.challengeExpired, .purpose)
        }
        guard challenge.keyID == nil || challenge.keyID == keyID else {
            throw Refusal(.challengeExpired, .otherKey)
        }
        let counters = services.counters
        let (incarnation, keyID, id) = (challenge.incarnation, challenge.keyID, challenge.id)
        guard let known = counters.moment(keyID: keyID, challenge: id),
            known.incarnation != incarnation,
            counters.mayHaveBegun(incarnation, keyID: keyID, challenge: id)
        else { return false }
        let answer: Void? = services.waiting.answer(for: exchange, as: .incarnation) { reply in
            counters.look(for: incarnation, keyID: keyID, challenge: id) { reply(()) }
        } later: { request, _ in
            request.incarnationWasLookedUp()
        }
        return answer == nil
    }

    private func check(_ challenge: Challenge) throws(Refusal) {
        let now = services.counters.moment(keyID: challenge.keyID, challenge: challenge.id)
        guard let now else { throw Refusal(.storeUnavailable, .counters) }
        // The incarnation is checked first, because the challenge's expiry is by that incarnation's
        // clock.
        guard challenge.incarnation == now.incarnation else {
            throw Refusal(.challengeExpired, .incarnation)
        }
        guard challenge.remainingMilliseconds(at: now.milliseconds) != nil else {
            throw Refusal(.challengeExpired, .age)
        }
    }

    /// Throws unless the client data describes this request.
    private func check(_ clientData: RequestClientData) throws(Refusal) {
        let bytes = headBytes.span
        let isClaimed = checkCall.question?.body == .claimed
        if isClaimed { checkCall.noteSigned(clientData.bodyDigest) }
        let mismatch = clientData.check(
            method: bytes.extracting(head.method),
            target: bytes.extracting(head.originTarget),
            bodyDigest: isClaimed ? clientData.bodyDigest : intake.digest)
        guard let mismatch else { return }
        throw Refusal(
            mismatch == .body ? .bodyMismatch : .requestMismatch, .clientDataMismatch(mismatch))
    }

    private static func refusal(of failure: PlatformFailure) -> Refusal {
        Refusal(
            failure.kind == .malformed ? .assertionMalformed : .assertionInvalid,
            .evidenceFailed(failure))
    }
}
