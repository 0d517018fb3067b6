import Administration
import HTTP
import JSON
import Policy
import Settings

/// The result of a request at one listener.
final class RouteReport {
    /// The result of the request, in a word for programs.
    private enum Result: String {
        case own = "answered_by_gateway"
        case redirect
        case route
        case noRoute = "no_route"
        case refused
    }

    private let request: AskedRequest
    private let listener: ListenerSettings
    private let settings: Settings
    private var lines: [String] = []
    private var result = Result.noRoute
    private var route: Route?
    private var status: Int?
    private var candidates: [(route: String, verdict: String)] = []

    init(_ request: AskedRequest, _ listener: ListenerSettings, _ settings: Settings) {
        self.request = request
        self.listener = listener
        self.settings = settings
    }

    func print(asJSON isJSON: Bool) {
        examine()
        guard isJSON else {
            return Console.print((["\(listener.bind):"] + lines).joined(separator: "\n"))
        }
        MachineOutput.print { writer in
            writer.member("listener", string: "\(listener.bind)")
            if let check = listener.check {
                writer.member("check_dialect", string: check.dialect.rawValue)
            }
            if let isPort = isAtPort { writer.member("port_matches", bool: isPort) }
            writer.member("result", string: result.rawValue)
            if let status { writer.member("status", int: Int64(status)) }
            if let route {
                writer.member("route", string: route.name)
                if let upstream = route.upstream {
                    writer.member("upstream", string: settings.upstreams[upstream].name)
                }
                writer.member("attest_mode", string: route.attest.mode.rawValue)
                let quotas = quotas(of: route)
                if !quotas.isEmpty { QuotaLine.write(quotas, to: &writer) }
            }
            writer.beginArray("candidates")
            for candidate in candidates {
                writer.beginObject()
                writer.member("route", string: candidate.route)
                writer.member("verdict", string: candidate.verdict)
                writer.endObject()
            }
            writer.endArray()
            writer.beginArray("lines")
            for line in lines { writer.element(string: String(line.drop { $0 == " " })) }
            writer.endArray()
        }
    }

    private func add(_ line: String) { lines.append(line) }

    private func refuse(_ code: String) {
        (result, status) = (.refused, 400)
        add("  refused with 400: \(code)")
    }

    /// True if the listener has the port in the URL; nil if the URL names none, or the listener has
    /// none.
    private var isAtPort: Bool? {
        guard let asked = request.port, case .tcp(_, let port) = listener.bind, port != 0 else {
            return nil
        }
        return asked == port
    }

    /// Describes the parts of the request that are ignored here, and the clients that could bring
    /// it.
    private func describeListener() {
        if let dialect = listener.check?.dialect {
            let place =
                switch dialect {
                case .envoy: "behind the prefix /check"
                case .envoyGRPC: "over gRPC"
                case .nginx, .forward, .json: "at /check"
                }
            add("  answers a proxy that asks as \(dialect.rawValue) \(place), and forwards nothing")
        }
        if isAtPort == false {
            add("  another port than the URL's: only what is mapped to it comes here")
        }
    }

    private func examine() {
        describeListener()
        // A target about the gateway itself, not about a path (RFC 9110 section 9.3.7).
        if request.head.targetForm == .asterisk {
            result = .own
            return add("  answered by the gateway itself: OPTIONS *")
        }
        var scratch: [UInt8] = []
        let target = Array(request.target.utf8)
        let path: [UInt8]
        switch TargetPath.normalize(target.span, allowing: listener.allow, into: &scratch) {
        case .asReceived(let pathCount): path = Array(target.prefix(pathCount))
        case .normalized: path = scratch
        case .refused(let fault):
            return refuse("\(fault.code)")
        }
        if let redirect = listener.redirect, !excepts(redirect, path) {
            result = .redirect
            return describe(redirect.redirect)
        }
        if let own = settings.ownEndpoints.first(where: {
            path == Array($0.path.utf8)
        }) {
            result = .own
            return add("  answered by the gateway itself: \(own.endpoint.routeName)")
        }
        if isCall(target) { return describeCall() }
        let match = match(target)
        switch match {
        case .route(let index):
            result = .route
            route = settings.routes[index]
            describe(settings.routes[index])
        case .none:
            status = 404
            add("  no route: 404")
        case .refused(let fault): refuse("\(fault.code)")
        }
        explain(path, match)
    }

    /// True if the target is the one at which a proxy asks the listener, which accepts no other
    /// spelling.
    private func isCall(_ target: [UInt8]) -> Bool {
        let path = String(decoding: target.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
        return switch listener.check?.dialect {
        case .nginx, .forward, .json: path == "/check"
        case .envoy: path.hasPrefix("/check/")
        case .envoyGRPC:
            path == "/envoy.service.auth.v3.Authorization/Check"
                || path == "/envoy.service.ext_proc.v3.ExternalProcessor/Process"
        case nil: false
        }
    }

    /// Describes a request that is a proxy's question.
    private func describeCall() {
        let dialect = listener.check?.dialect
        guard request.method == "POST" || dialect != .json && dialect != .envoyGRPC else {
            return refuse("a question is asked with POST")
        }
        result = .own
        add("  answered by the gateway itself: the listener's check endpoint, where a proxy asks")
    }

    private func excepts(_ redirect: ListenerRedirect, _ path: [UInt8]) -> Bool {
        for pattern in redirect.except where pattern.covers(path.span) { return true }
        return false
    }

    private func match(_ target: [UInt8]) -> TargetMatch {
        let table = RouteTable(settings.routes)
        var scratch: [UInt8] = []
        let method = Array(request.method.utf8)
        let message = request.bytes
        let bytes = message.span
        let traits = table.traits(
            authority: bytes.extracting(request.head.host ?? .empty), fields: request.head.fields,
            bytes: bytes, trustsForwarding: trustsForwarding)
        return table.match(
            method: method.span, target: target.span, traits: traits, allowing: listener.allow,
            scratch: &scratch)
    }

    /// True if the listener trusts some proxies: the report assumes such a peer.
    private var trustsForwarding: Bool { !listener.trustedProxies.isEmpty }

    private func describe(_ route: Route) {
        add("  route \(route.name)")
        describeAction(of: route)
        for quota in quotas(of: route) {
            add("  quota \(quota.name): \(QuotaLine.summary(quota))")
        }
        let attest = route.attest
        add("  attest mode \(attest.mode.rawValue)")
        guard attest.mode != .off else { return }
        add(
            "  client data \(attest.clientData.rawValue), challenge \(attest.challenge.rawValue),"
                + " replay \(attest.replay),"
                + " rollout \(route.rollout?.summary ?? "\(attest.rolloutPercent)%"),"
                + " accepts \(Self.proofs(attest)),"
                + " on store failure \(attest.onStoreFailure.rawValue)")
        for line in RestrictionLines.lines(of: route) { add("  " + line) }
    }

    private func quotas(of route: Route) -> [Quota] {
        route.quotas.compactMap { name in settings.quotas.first { $0.name == name } }
    }

    private static func proofs(_ policy: RoutePolicy) -> String {
        let kinds: [(AcceptedProofs, String)] = [
            (.assertion, "assertions"), (.token, "tokens"), (.deviceCheck, "DeviceCheck tokens"),
            (.developer, "developer tokens"),
        ]
        let own = kinds.filter { policy.accept.contains($0.0) }.map(\.1)
        let foreign = policy.proofs.map { "tokens of \($0.name) (worth \($0.tier.name))" }
        return (own + foreign).joined(separator: " and ")
    }

    private func describeAction(of route: Route) {
        if let upstream = route.upstream {
            add("  upstream \(settings.upstreams[upstream].name)")
        }
        switch route.answer {
        case .redirect(let redirect)?: describe(redirect)
        case .respond(let response)?:
            status = Int(response.status)
            add("  respond \(response.status)")
        case nil: break
        }
        switch route.rewrite {
        case .prefix(let path)?, .path(let path)?: add("  path rewritten to \(path)")
        case nil: break
        }
    }

    private func describe(_ redirect: Redirect) {
        status = Int(redirect.status)
        add("  redirect \(redirect.status) to \(redirect.location.description)")
    }

    private func explain(_ path: [UInt8], _ match: TargetMatch) {
        let message = request.bytes
        let bytes = message.span
        let explanation = RouteExplanation(
            routes: settings.routes, method: request.method, path: path,
            authority: bytes.extracting(request.head.host ?? .empty), fields: request.head.fields,
            bytes: bytes, trustsForwarding: trustsForwarding)
        if explanation.readPath != path {
            let read = String(decoding: explanation.readPath, as: UTF8.self)
            add("  the upstream reads the path as \(read) (upstreams.*.paths)")
        }
        for (route, verdict) in zip(settings.routes, explanation.verdicts)
        where verdict != .otherPath {
            candidates.append((route.name, words(verdict, route)))
        }
        guard !candidates.isEmpty else { return add("  no route covers the path") }
        add("  routes that cover the path:")
        for candidate in candidates { add("    \(candidate.route): \(candidate.verdict)") }
        if let taken = explanation.verdicts.firstIndex(of: .taken), match != .route(taken) {
            add("  another reading of the path decided: see listeners[].allow")
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
