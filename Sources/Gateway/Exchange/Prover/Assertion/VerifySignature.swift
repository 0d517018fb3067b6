import AppAttest
import Bytes
import GatewayTokens
import HTTP
import Judgement
import KeyStore
import Settings

/// Assertions: read and bound to their request before anything is asked of a store.
///
/// Cheap checks come first: a flood without a fresh challenge of ours costs a MAC each, not a
/// signature.
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

    /// The counter store was asked for its incarnation: what is known now decides.
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

    /// Has the signature checked by the key that was looked up, when the turn ends.
    func verify(_ evidence: Evidence) throws(Refusal) -> Step {
        let (key, app) = try prover.usableKey()
        do throws(AssertionFailure) {
            try worker.verifiers.queue.add(exchange, evidence, key, app)
        } catch {
            throw Self.refusal(of: error)
        }
        exchange.awaited = .signature
        return .wait
    }

    /// The verdict of the worker's ``SignatureQueue``.
    func signatureWasChecked(_ outcome: AssertionBatch.Outcome) {
        exchange.resume { () throws(Refusal) in
            try prover.satisfyJudgement { () throws(Refusal) in
                guard case .assertion(.read(let evidence)) = prover.proof else {
                    throw Refusal(.internalFailure, .undecided)
                }
                switch outcome {
                case .success(let assertion): try take(assertion, evidence)
                case .failure(let failure): throw Self.refusal(of: failure)
                }
                judge.met(.authenticity)
                return .next
            }
        }
    }

    private func take(
        _ assertion: VerifiedAssertion, _ evidence: Evidence
    ) throws(Refusal) {
        // Nothing of the body is read for strangers, nor is anything spent on a bad one.
        if match.endpoint == .assertToken {
            try endpoints.readAudience()
        }
        prover.take(
            .verified(
                AssertionClaim(
                    keyID: evidence.keyID, challenge: evidence.challenge, assertion: assertion)))
        if match.endpoint == .assertToken { try endpoints.narrowAudience() }
    }

    /// Whether the exchange waits until the counter store has said if it is under the incarnation
    /// of `challenge`, of which this worker has not heard.
    private func isEarly(_ challenge: Challenge, for keyID: KeyID) throws(Refusal) -> Bool {
        guard challenge.purpose == .assertion else {
            throw Refusal(.challengeExpired, .purpose)
        }
        guard challenge.keyID == nil || challenge.keyID == keyID else {
            throw Refusal(.challengeExpired, .otherKey)
        }
        let counters = worker.counters
        let (incarnation, keyID, id) = (challenge.incarnation, challenge.keyID, challenge.id)
        guard let known = counters.moment(keyID: keyID, challenge: id),
            known.incarnation != incarnation,
            counters.mayHaveBegun(incarnation, keyID: keyID, challenge: id)
        else { return false }
        let answer: Void? = worker.waiting.answer(for: exchange, as: .incarnation) { reply in
            counters.look(for: incarnation, keyID: keyID, challenge: id) { reply(()) }
        } later: { exchange, _ in
            exchange.assertions.incarnationWasLookedUp()
        }
        return answer == nil
    }

    private func check(_ challenge: Challenge) throws(Refusal) {
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
        let isClaimed = checkCall.question?.body == .claimed
        if isClaimed { checkCall.question?.signedDigest = clientData.bodyDigest }
        let mismatch = clientData.check(
            method: bytes.extracting(head.method),
            target: bytes.extracting(head.originTarget),
            bodyDigest: isClaimed ? clientData.bodyDigest : intake.digest)
        guard let mismatch else { return }
        throw Refusal(
            mismatch == .body ? .bodyMismatch : .requestMismatch, .clientDataMismatch(mismatch))
    }

    private static func refusal(of failure: AssertionFailure) -> Refusal {
        if case .malformed = failure {
            return Refusal(.assertionMalformed, .assertionFailed(failure))
        }
        return Refusal(.assertionInvalid, .assertionFailed(failure))
    }
}
