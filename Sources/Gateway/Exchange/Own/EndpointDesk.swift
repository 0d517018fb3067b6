import Attestation

/// Answers the gateway's own endpoints for apps: challenges, enrolments, tokens and discovery.
///
/// It may change the enrolment under way and the routes that a token is asked for.
struct EndpointDesk: ExchangePart {
    let exchange: Exchange

    @inline(__always) var state: State { exchange.endpointsState }

    /// The verified attestation that waits for its commit; nil if there is none.
    @inline(__always) var enrolment: PendingEnrolment? { state.enrolment }

    /// The platform that an enrolment names, verified or not.
    @inline(__always) var enrolmentPlatform: PlatformName? { state.enrolmentPlatform }

    /// The routes for which the client asks its token to be valid.
    @inline(__always) var tokenAudience: [String] { state.tokenAudience }

    /// The record of an endpoint's request.
    final class State {
        var enrolment: PendingEnrolment? = nil
        var enrolmentPlatform: PlatformName? = nil
        var tokenAudience: [String] = []

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            if enrolment != nil { enrolment = nil }
            if enrolmentPlatform != nil { enrolmentPlatform = nil }
            if !tokenAudience.isEmpty { tokenAudience = [] }
        }
    }
}
