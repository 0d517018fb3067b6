import Judgement
import Policy

/// What other parts tell the judgement.
extension Judge {
    /// Takes what the route demands.
    func begin(_ demand: RouteDemand, rolloutPercent: Int? = 100) {
        judgement.begin(demand, rolloutPercent: rolloutPercent)
    }

    /// What was needed has been done.
    func met(_ need: Need) { judgement.met(need) }
    /// Something that changes no decision, for the log.
    func note(_ cause: Cause?) { judgement.note(cause) }
    /// The gateway answers itself.
    func answer() { judgement.answer() }
    func refuse(_ refusal: Refusal) { judgement.refuse(refusal) }
    func clientLeft(because cause: Cause?) { judgement.clientLeft(because: cause) }
    /// A look that was never taken is no decision.
    func forgetPass() { judgement.forgetPass() }
    func acceptDeveloper() { judgement.acceptDeveloper() }

    /// Accepts a request by another issuer's token, if that is worth what the route demands.
    func acceptForeign(_ tier: TrustTier) throws(Refusal) {
        try settle(try judgement.weighForeign(tier, cohort: judgedCohort))
        judgement.acceptForeign()
    }
}
