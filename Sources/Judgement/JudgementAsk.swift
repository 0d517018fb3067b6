/// The questions that a judgement asks its caller, and the replies.
extension Judgement {
    /// What must be asked before it is known whether a request may fall short.
    package enum Ask: Equatable {
        case nothing
        /// Whether this rate limit has room: ``answer(_:)`` takes the reply.
        case rate(RateQuestion)
        /// Is the session token, whose key could not be looked up, one of an app that is
        /// configured? If it is, and is worth enough, its consumption is needed next.
        case unrevokedToken
    }

    /// The question that a rate limit of the route is asked.
    package enum RateQuestion: Equatable {
        case shortfall(Shortfall, Reason)
        /// A key at risk: the limit is only tried, because a replay must take nothing from its key.
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
