import Judgement
import Policy

/// The calls by which other parts change the judgement.
extension Judge {
    /// Starts the judgement with what the route demands.
    func begin(_ demand: RouteDemand, rolloutPercent: Int? = 100) {
        state.judgement.begin(demand, rolloutPercent: rolloutPercent)
    }

    /// Notes that a need was met.
    func met(_ need: Need) { state.judgement.met(need) }
    /// Notes a cause for the log, which changes no decision.
    func note(_ cause: Cause?) { state.judgement.note(cause) }
    /// Notes that the gateway answers itself.
    func answer() { state.judgement.answer() }
    func refuse(_ refusal: Refusal) { state.judgement.refuse(refusal) }
    func clientLeft(because cause: Cause?) { state.judgement.clientLeft(because: cause) }
    /// Forgets that the request passed without a judgement, because the route answers it itself.
    func forgetPass() { state.judgement.forgetPass() }
    func acceptDeveloper() { state.judgement.acceptDeveloper() }

    /// Accepts a request with another issuer's token, if its tier meets what the route demands.
    func acceptForeign(_ tier: TrustTier) throws(Refusal) {
        try settle(try state.judgement.weighForeign(tier, cohort: judgedCohort))
        state.judgement.acceptForeign()
    }
}
