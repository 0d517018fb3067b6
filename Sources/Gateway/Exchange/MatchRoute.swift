import Bytes
import HTTP
import Policy
import Settings

extension Exchange {
    /// The head is complete and well-formed: the connection's codec saw to that. What is left is
    /// what concerns the exchange: the id by which a proxy before this one knows it.
    func readHead() throws(Refusal) -> Step {
        if isPeerTrusted { trustedRequestID = usableRequestID() }
        try limitListenerRate()
        try refuseLoop()
        return .next
    }

    /// Refuses what is no head, or not one of a request. It counts as any other: who sends nothing
    /// else is limited too.
    func refuseHead(_ refusal: Refusal) {
        do throws(Refusal) {
            try limitListenerRate()
            refuse(refusal)
        } catch {
            refuse(error)
        }
    }

    /// The one `X-Request-Id` of a trusted peer, where logs, headers and JSON can hold it as it is.
    private func usableRequestID() -> Range32? {
        var found: Range32?
        for field in head.fields where field.known == .xRequestID {
            guard found == nil else { return nil }
            found = field.value
        }
        guard let found, !found.isEmpty, found.count <= Self.requestIDByteCountMax else {
            return nil
        }
        let bytes = headBytes.span
        let text = bytes.extracting(found)
        for index in text.indices {
            let byte = text[index]
            guard byte > 0x20, byte < 0x7F, byte != 0x22, byte != 0x5C else { return nil }
        }
        return found
    }

    /// UUIDs have 36, trace ids of the known systems at most 100.
    private static let requestIDByteCountMax = 128

    /// Finds the endpoint or route that the normal form of the path belongs to.
    func matchRoute() throws(Refusal) -> Step {
        let bytes = headBytes.span
        switch head.targetForm {
        case .origin, .absolute: break
        case .asterisk:
            // OPTIONS * is about the gateway itself (RFC 9110 section 9.3.7).
            return answer(LocalResponse(status: 200))
        case .authority:
            throw Refusal(.notImplemented, .connect)
        }
        let target = bytes.extracting(head.originTarget)
        let method = bytes.extracting(head.method)
        switch TargetPath.normalize(target, allowing: listener.allow, into: &normalPath) {
        case .asReceived(let pathCount):
            let path = target.extracting(0..<pathCount)
            if let step = try answerOwn(path: path) { return step }
            let routes = site.routes
            let traits = routes.usesTraits ? traits(for: routes) : .plain
            switch routes.match(method: method, path: path, traits: traits) {
            case .route(let index): try use(route: index, spellings: [])
            case .none: throw Refusal(.notFound, .noRoute)
            case .refused(let fault): throw Refusal(.badRequest, .httpFault(fault))
            }
        case .normalized(_, let spellings):
            let normalForm = normalPath
            if let step = try answerOwn(path: normalForm.span) { return step }
            let routes = site.routes
            let traits = routes.usesTraits ? traits(for: routes) : .plain
            switch routes.match(
                method: method, target: target, traits: traits, allowing: listener.allow,
                scratch: &normalPath)
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

    /// What the gateway answers itself; nil for a request that belongs to a route.
    private func answerOwn(path: Span<UInt8>) throws(Refusal) -> Step? {
        if listener.isAdmin { return try answerAdmin(path: path) }
        if let redirect = listener.redirect, !redirect.except.contains(where: { $0.covers(path) }) {
            return answer(redirecting(redirect.redirect))
        }
        guard let endpoint = site.endpointPaths.endpoint(at: path) else { return nil }
        self.endpoint = endpoint
        if endpoint == .assertToken { policy = Self.tokenExchangePolicy }
        return .next
    }

    /// Host and headers, where a route looks at them.
    private func traits(for routes: RouteTable) -> RequestTraits {
        let bytes = headBytes.span
        return routes.traits(
            authority: bytes.extracting(head.host ?? .empty), fields: head.fields, bytes: bytes,
            trustsForwarding: isPeerTrusted)
    }

    private func use(route index: Int, spellings: TargetAllowances) throws(Refusal) {
        routeIndex = index
        policy = site.settings.routes[index].attest
        if site.settings.routes[index].allowsWebSocket { isUpgrading = asksForWebSocket }
        standard = site.standards[index]
        rolloutPercent =
            if let share = site.rollouts[index] { share.percent } else { policy.rolloutPercent }
        treatment = site.treatments[index]
        guard let treatment else { return }
        if let nanoseconds = treatment.requestNanoseconds { changeRequestDeadline(nanoseconds) }
        // Of a body that is announced as empty only its end can come, and it is awaited: in HTTP/2
        // more may come, and then the upstream must not have the request.
        isStreaming = treatment.streamsBody && head.framing != .none && head.framing != .length(0)
        guard treatment.cutsTarget else { return }
        // Where a slash may be spelled in other ways nobody can tell how much of it is the prefix.
        guard spellings.isSubset(of: [.pathParameters, .encodedControl]) else {
            throw Refusal(.badRequest, .httpFault(.pathAmbiguous))
        }
    }
}
