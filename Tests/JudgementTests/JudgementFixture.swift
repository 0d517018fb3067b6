import Judgement
import Policy

/// What a route demands, for as many judgements as a test needs. It enforces, unless `configure`
/// says otherwise.
struct JudgedDemand {
    let demand: RouteDemand
    let rolloutPercent: Int?

    init(
        takesDevices: Bool = true, rolloutPercent: Int? = 100,
        _ configure: (inout RoutePolicy) -> Void = { _ in }
    ) {
        var policy = RoutePolicy()
        policy.mode = .enforce
        configure(&policy)
        demand = RouteDemand(policy) { _ in takesDevices }
        self.rolloutPercent = rolloutPercent
    }

    func judgement() -> Judgement {
        var judgement = Judgement()
        judgement.begin(demand, rolloutPercent: rolloutPercent)
        return judgement
    }
}
