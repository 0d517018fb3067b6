import HTTP
import Policy
import Settings

/// The result of a request at one listener.
struct RouteReport {
    private let request: AskedRequest
    private let listener: ListenerSettings
    private let settings: Settings

    init(_ request: AskedRequest, _ listener: ListenerSettings, _ settings: Settings) {
        self.request = request
        self.listener = listener
        self.settings = settings
    }

    func print() {
        // About the gateway itself, not about a path (RFC 9110 section 9.3.7).
        if request.head.targetForm == .asterisk {
            Console.print("  answered by the gateway itself: OPTIONS *")
            return
        }
        var scratch: [UInt8] = []
        let target = Array(request.target.utf8)
        let path: [UInt8]
        switch TargetPath.normalize(target.span, allowing: listener.allow, into: &scratch) {
        case .asReceived(let pathCount): path = Array(target.prefix(pathCount))
        case .normalized: path = scratch
        case .refused(let fault):
            Console.print("  refused with 400: \(fault.code)")
            return
        }
        if let redirect = listener.redirect, !excepts(redirect, path) {
            describe(redirect.redirect)
            return
        }
        if let endpoint = settings.ownEndpoints.first(where: {
            path == Array((settings.endpoints.base + $0).utf8)
        }) {
            Console.print("  answered by the gateway itself: \(endpoint)")
            return
        }
        let match = match(target)
        switch match {
        case .route(let index): describe(settings.routes[index])
        case .none: Console.print("  no route: 404")
        case .refused(let fault): Console.print("  refused with 400: \(fault.code)")
        }
        explain(path, match)
    }

    private func excepts(_ redirect: ListenerRedirect, _ path: [UInt8]) -> Bool {
        for pattern in redirect.except where pattern.covers(path.span) { return true }
        return false
    }

    private func match(_ target: [UInt8]) -> TargetMatch {
        let table = RouteTable(settings.routes)
        var scratch: [UInt8] = []
        let method = Array(request.method.utf8)
        let bytes = request.bytes.span
        let traits = table.traits(
            authority: bytes.extracting(request.head.host ?? .empty), fields: request.head.fields,
            bytes: bytes, trustsForwarding: trustsForwarding)
        return table.match(
            method: method.span, target: target.span, traits: traits, allowing: listener.allow,
            scratch: &scratch)
    }

    /// The peer may be any: one that is believed, where the listener believes some.
    private var trustsForwarding: Bool { !listener.trustedProxies.isEmpty }

    private func describe(_ route: Route) {
        Console.print("  route \(route.name)")
        describeAction(of: route)
        let attest = route.attest
        Console.print("  attest mode \(attest.mode.rawValue)")
        guard attest.mode != .off else { return }
        Console.print(
            "  client data \(attest.clientData.rawValue), challenge \(attest.challenge.rawValue),"
                + " replay \(attest.replay),"
                + " rollout \(route.rollout?.summary ?? "\(attest.rolloutPercent)%"),"
                + " accepts \(Self.proofs(attest.accept)),"
                + " on store failure \(attest.onStoreFailure.rawValue)")
        for line in RestrictionLines.lines(of: route) { Console.print("  " + line) }
    }

    private static func proofs(_ accept: AcceptedProofs) -> String {
        let kinds: [(AcceptedProofs, String)] = [
            (.assertion, "assertions"), (.token, "tokens"), (.deviceCheck, "DeviceCheck tokens"),
            (.developer, "developer tokens"),
        ]
        return kinds.filter { accept.contains($0.0) }.map(\.1).joined(separator: " and ")
    }

    private func describeAction(of route: Route) {
        if let upstream = route.upstream {
            Console.print("  upstream \(settings.upstreams[upstream].name)")
        }
        switch route.answer {
        case .redirect(let redirect)?: describe(redirect)
        case .respond(let response)?: Console.print("  respond \(response.status)")
        case nil: break
        }
        switch route.rewrite {
        case .prefix(let path)?, .path(let path)?: Console.print("  path rewritten to \(path)")
        case nil: break
        }
    }

    private func describe(_ redirect: Redirect) {
        Console.print("  redirect \(redirect.status) to \(redirect.location.description)")
    }

    private func explain(_ path: [UInt8], _ match: TargetMatch) {
        let bytes = request.bytes.span
        let explanation = RouteExplanation(
            routes: settings.routes, method: request.method, path: path,
            authority: bytes.extracting(request.head.host ?? .empty), fields: request.head.fields,
            bytes: bytes, trustsForwarding: trustsForwarding)
        if explanation.readPath != path {
            let read = String(decoding: explanation.readPath, as: UTF8.self)
            Console.print("  the upstream reads the path as \(read) (upstreams.*.paths)")
        }
        var lines: [String] = []
        for (route, verdict) in zip(settings.routes, explanation.verdicts)
        where verdict != .otherPath {
            lines.append("    \(route.name): \(words(verdict, route))")
        }
        guard !lines.isEmpty else {
            Console.print("  no route covers the path")
            return
        }
        Console.print("  routes that cover the path:")
        for line in lines { Console.print(line) }
        if let taken = explanation.verdicts.firstIndex(of: .taken), match != .route(taken) {
            Console.print("  another reading of the path decided: see listeners[].allow")
        }
    }

    private func words(_ verdict: RouteExplanation.Verdict, _ route: Route) -> String {
        switch verdict {
        case .taken: "taken"
        case .otherPath: "another path"
        case .otherHost: "takes other hosts"
        case .lessSpecificPath: "its path is less specific"
        case .lessSpecificHost: "its host is less specific"
        case .otherMethod: "takes other methods"
        case .methodNamedElsewhere: "another route names the method"
        case .header(let condition):
            switch condition.test {
            case .present: "needs header \(condition.name)"
            case .absent: "takes no header \(condition.name)"
            case .equals: "needs another value of header \(condition.name)"
            }
        case .lessSpecificHeaders: "asks for fewer headers"
        case .lessStrict: "demands less than another that the slash leads to"
        case .otherDemands: "demands other things than another that the slash leads to"
        }
    }
}
