import Bytes
import HTTP
import Judgement
import Policy

/// Tokens of other issuers, on routes that name these. Whoever holds one can send it as often as
/// they like until it ends: it proves what its issuer found out, and nothing about this request.
extension Prover {
    /// The first of the route's issuers whose header is there.
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
            headBytes.span.extracting(range), at: worker.wallMilliseconds / 1000)
        self.proof = .foreign(.verified(proof, subject: subject))
    }

    /// Accepts a request by another issuer's token. There is no key, so of what the route demands
    /// only the tier is measured.
    func accept(_ proof: ForeignProof) throws(Refusal) {
        try judge.acceptForeign(proof.tier)
    }
}
