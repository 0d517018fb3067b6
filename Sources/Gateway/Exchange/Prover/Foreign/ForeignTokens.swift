import Bytes
import HTTP
import Judgement
import Policy

/// Tokens of other issuers, on routes that name them. A holder can send one any number of times
/// until it expires: it proves what its issuer found out, and nothing about this request.
extension Prover {
    /// The proof for the first of the route's issuers whose header is there.
    func announcedForeignProof() -> Proof? {
        for proof in policy.proofs
        where !intake.uniqueField(site.issuers[proof.index].fieldNames).isAbsent {
            return .foreign(.announced(proof))
        }
        return nil
    }

    func readForeignToken(_ proof: ForeignProof) throws(Refusal) {
        let issuer = site.issuers[proof.index]
        guard case .value(let range) = intake.uniqueField(issuer.fieldNames) else {
            throw Refusal(.tokenInvalid, .proofRepeated)
        }
        let subject = try issuer.verify(
            headBytes.span.extracting(range), at: services.wallMilliseconds / 1000)
        state.take(.foreign(.verified(proof, subject: subject)))
    }

    /// Accepts a request with another issuer's token. It has no key, so only its tier is weighed.
    func accept(_ proof: ForeignProof) throws(Refusal) {
        try judge.acceptForeign(proof.tier)
    }
}
