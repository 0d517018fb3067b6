/// Answers the gateway's own endpoints for apps: challenges, enrolments, tokens, discovery.
///
/// It may change the enrolment that is under way, and which routes a token is asked for.
struct EndpointDesk: ExchangePart {
    let exchange: Exchange

    @inline(__always) private var state: State { exchange.endpointsState }

    /// The attestation that has been verified and waits for its commit.
    @inline(__always) var enrolment: PendingEnrolment? {
        _read { yield state.enrolment }
        nonmutating _modify { yield &state.enrolment }
    }

    /// The routes that the token asked for shall be good for.
    @inline(__always) var tokenAudience: [String] {
        _read { yield state.tokenAudience }
        nonmutating _modify { yield &state.tokenAudience }
    }

    /// What an endpoint does for a request.
    final class State {
        fileprivate(set) var enrolment: PendingEnrolment? = nil
        fileprivate(set) var tokenAudience: [String] = []

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            if enrolment != nil { enrolment = nil }
            if !tokenAudience.isEmpty { tokenAudience = [] }
        }
    }
}
