import Judgement
import Policy

/// The answer of the route's rate limits.
enum Room: CaseIterable {
    case hasRoom
    case isUsedUp
    case isMissing

    static let refusal = Refusal(.rateLimited, .rate(limit: "few", shortfall: nil))

    var reply: Judgement.RateReply {
        switch self {
        case .hasRoom: .hasRoom
        case .isUsedUp: .isUsedUp(Self.refusal)
        case .isMissing: .isMissing
        }
    }
}

/// One request, whose judgement is driven as the gateway drives it. The stores and rate limits
/// answer as the test says.
struct JudgedRequest: ~Copyable {
    /// What the request brings, as the gateway finds it.
    enum Proof {
        /// No proof, or one with this fault.
        case fault(Refusal)
        /// A proof that holds.
        case holds(TrustTier, ProvenFacts)
        /// A session token whose key the registry, which failed, could not look up.
        case openToken(ProvenFacts)
        case developer(TrustTier, appID: String? = nil)
    }

    var judgement: Judgement
    var cohort = 0
    /// What a store finds wrong once the proof has been weighed.
    var laterFault: Refusal?
    /// Whether a request without a proof looks as if the app had sent it.
    var seemsToBeApp = false
    var room = Room.hasRoom
    /// The questions that rate limits were asked, in their order.
    private(set) var questions: [Judgement.RateQuestion] = []

    init(
        _ demand: JudgedDemand, cohort: Int = 0, laterFault: Refusal? = nil,
        seemsToBeApp: Bool = false, room: Room = .hasRoom
    ) {
        judgement = demand.judgement()
        self.cohort = cohort
        self.laterFault = laterFault
        self.seemsToBeApp = seemsToBeApp
        self.room = room
    }

    /// The verdict, also on what is refused.
    mutating func verdict(on proof: Proof) -> Verdict {
        do throws(Refusal) {
            do throws(Refusal) {
                try weigh(proof)
            } catch {
                try find(error, proof)
            }
        } catch {
            judgement.refuse(error)
        }
        var circumstances = Judgement.Circumstances()
        circumstances.cohort = cohort
        if case .holds = proof { circumstances.isAuthentic = true }
        return judgement.verdict(circumstances)
    }

    private mutating func weigh(_ proof: Proof) throws(Refusal) {
        switch proof {
        case .fault(let fault): throw fault
        case .openToken: throw Refusal(.storeUnavailable, .registry)
        case .holds(let tier, let facts):
            try settle(try judgement.weigh(tier, cohort: cohort, facts: facts))
            if let laterFault { throw laterFault }
            judgement.conclude()
        case .developer(let tier, let appID):
            try settle(try judgement.weighDeveloper(tier, appID: appID, cohort: cohort))
            judgement.acceptDeveloper()
        }
    }

    private mutating func find(_ fault: Refusal, _ proof: Proof) throws(Refusal) {
        var token: ProvenFacts?
        if case .openToken(let facts) = proof { token = facts }
        let ask = try judgement.find(
            fault, cohort: cohort, seemsToBeApp: seemsToBeApp, hasOpenToken: token != nil)
        guard ask == .unrevokedToken, let token else { return try settle(ask) }
        try settle(try judgement.weigh(.token, cohort: cohort, facts: token))
        judgement.conclude()
    }

    private mutating func settle(_ first: Judgement.Ask) throws(Refusal) {
        var ask = first
        while case .rate(let question) = ask {
            questions.append(question)
            ask = try judgement.answer(room.reply)
        }
    }
}

/// The verdict on a request that brings this to a route that demands this.
func verdict(
    on proof: JudgedRequest.Proof, _ demand: JudgedDemand, cohort: Int = 0, room: Room = .hasRoom
) -> Verdict {
    var request = JudgedRequest(demand, cohort: cohort, room: room)
    return request.verdict(on: proof)
}

extension Outcome {
    static func refused(_ reason: Reason, _ check: Cause.Check? = nil) -> Outcome {
        Outcome(.refused, reason, check.map { .check($0) })
    }
}

extension Verdict {
    /// The word for `X-Attest-Result`; nil if the sender is known, or not asked for.
    var unprovedResult: String? {
        if case .unproved(let result) = identity { result.description } else { nil }
    }
}
