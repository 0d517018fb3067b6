import Background
import Bytes
import HTTP
import Judgement
import Policy
import Settings

extension RequestIntake {
    /// Finds the endpoint or route that the normal form of the path belongs to.
    func matchRoute() throws(Refusal) -> Step {
        let bytes = headBytes.span
        switch state.head.targetForm {
        case .origin, .absolute: break
        case .asterisk where checkCall.question != nil:
            throw Refusal(
                .notFound, .checkOwn,
                explanation: "OPTIONS * asks about the server itself, so it belongs to no route.")
        case .asterisk:
            // OPTIONS * is about the gateway itself (RFC 9110 section 9.3.7).
            return exchange.answer(LocalResponse(status: 200))
        }
        let target = bytes.extracting(state.head.originTarget)
        let method = bytes.extracting(state.head.method)
        switch TargetPath.normalize(
            target, allowing: client.listener.allow, into: &state.normalPath)
        {
        case .asReceived(let pathCount):
            let path = target.extracting(0..<pathCount)
            if let step = try answerOwn(path: path) { return step }
            switch site.routes.match(method: method, path: path, traits: traits) {
            case .route(let index): try use(route: index, spellings: [])
            case .none: throw Refusal(.notFound, .noRoute)
            case .refused(let fault): throw Refusal(.badRequest, .httpFault(fault))
            }
        case .normalized(_, let spellings):
            let normalForm = state.normalPath
            if let step = try answerOwn(path: normalForm.span) { return step }
            switch site.routes.match(
                method: method, target: target, traits: traits, allowing: client.listener.allow,
                scratch: &state.normalPath)
            {
            case .route(let index): try use(route: index, spellings: spellings)
            case .none: throw Refusal(.notFound, .noRoute)
            case .refused(let fault): throw Refusal(.badRequest, .httpFault(fault))
            }
        case .refused(let fault):
            throw Refusal(.badRequest, .httpFault(fault))
        }
        return .next
    }

    /// Answers what the gateway answers itself. Nil for a request that belongs to a route.
    private func answerOwn(path: Span<UInt8>) throws(Refusal) -> Step? {
        if client.listener.isAdmin { return try adminDesk.answerAdmin(path: path) }
        if let redirect = client.listener.redirect,
            !redirect.except.contains(where: { $0.covers(path) })
        {
            return exchange.answer(rewriter.redirecting(redirect.redirect))
        }
        guard let endpoint = site.endpoints.paths.endpoint(at: path) else {
            // On a listener for questions, requests themselves are refused.
            guard client.listener.settings.check == nil || checkCall.question != nil else {
                throw Refusal(.notFound, .checkPath)
            }
            return nil
        }
        guard checkCall.question == nil else {
            throw Refusal(
                .notFound, .checkOwn,
                explanation:
                    """
                    This is an endpoint of the gateway: send the request itself to the listener, \
                    instead of asking about it.
                    """)
        }
        state.match.endpoint = endpoint
        if endpoint == .assertToken { judge.begin(EndpointDesk.tokenExchangeDemand) }
        return .next
    }

    /// The host and headers, if a route looks at them.
    private var traits: RequestTraits {
        guard site.routes.usesTraits else { return .plain }
        let bytes = headBytes.span
        return site.routes.traits(
            authority: bytes.extracting(state.head.host ?? .empty), fields: state.head.fields,
            bytes: bytes,
            trustsForwarding: client.isPeerTrusted)
    }

    private func use(route index: Int, spellings: TargetAllowances) throws(Refusal) {
        state.match.routeIndex = index
        let isQuestion = checkCall.question != nil
        state.match.upstreamIndex = site.settings.routes[index].upstream
        if site.settings.routes[index].allowsWebSocket, !isQuestion {
            forwarder.askForTunnel()
        }
        let demand = site.demands[index]
        let percent =
            if let share = site.rollouts[index] { share.percent } else {
                demand.policy.rolloutPercent
            }
        judge.begin(demand, rolloutPercent: percent)
        guard let handling = site.handlings[index] else { return state.match.handling = nil }
        state.match.handling = handling
        if let nanoseconds = handling.requestNanoseconds {
            exchange.changeRequestDeadline(nanoseconds)
        }
        // A body that is announced as empty is held until it has ended. In HTTP/2 more bytes may
        // come, and then the upstream must not get the request.
        state.isStreaming =
            handling.streamsBody && !isQuestion && state.head.framing != .none
            && state.head.framing != .length(0)
        guard handling.cutsTarget else { return }
        // If a slash may be spelled in other ways, the end of the prefix is uncertain.
        guard spellings.isSubset(of: [.pathParameters, .encodedControl]) else {
            throw Refusal(.badRequest, .httpFault(.pathAmbiguous))
        }
    }
}
