/// The questions that a judgement asks its caller, and the replies.
extension Judgement {
    /// The question whose reply decides if a request may fall short.
    package enum Ask: Equatable {
        case nothing
        /// Does this rate limit have room? ``answer(_:)`` takes the reply.
        case rate(RateQuestion)
        /// Is the session token, whose key could not be looked up, one of an app that is
        /// configured? If it is, and is worth enough, its consumption is needed next.
        case unrevokedToken
    }

    /// The question that a rate limit of the route is asked.
    package enum RateQuestion: Equatable {
        case shortfall(Shortfall, Reason)
        /// The limit for a key at risk. It is only tried, because a replay must take nothing from
        /// its key.
        case risk
        case signal(Signal, isTrial: Bool)
    }

    package enum RateReply {
        case hasRoom
        case isUsedUp(Refusal)
        /// The route has no limit for this.
        case isMissing
    }
}
