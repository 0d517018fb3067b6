import HTTP
import Policy
import YAML

/// What must hold between routes: each can match, and none leads around another.
struct RouteChecks {
    private let matchable: [PlacedRoute]
    private let upstreams: [UpstreamSettings]
    private let context: ReadingContext

    init(routes: [PlacedRoute], upstreams: [UpstreamSettings], context: ReadingContext) {
        matchable = routes.filter(\.isMatchable)
        self.upstreams = upstreams
        self.context = context
    }

    func run() {
        let routes = matchable.map(\.route)
        let table = RouteTable(routes)
        let problems =
            table.problems
            + RouteWeakness.problems(in: routes, table: table, upstreamGroups: upstreamGroups)
        for problem in problems { report(problem) }
        checkSharedServers()
        let gaps = RouteSpellings.gaps(
            in: routes, table: table, upstreamGroups: upstreamGroups,
            known: upstreams.map(\.paths.known))
        for gap in gaps { warn(gap) }
    }

    /// Only a warning: no RFC has servers read paths so, though many do.
    private func warn(_ gap: RouteSpellings.Gap) {
        let route = matchable[gap.route]
        let name = route.route.upstream.map { upstreams[$0].name } ?? ""
        context.warning(
            "\(route.path).path: guards one spelling: the route at \(place(gap.weaker)) demands "
                + "less and takes \(gap.paths.map(quoted).joined(separator: ", ")), which many "
                + "servers read alike: leave nothing weaker around it, or say in "
                + "upstreams.\(name).paths how that upstream reads them", at: route.pathMark)
    }

    /// One server reads paths in one way.
    private func checkSharedServers() {
        let groups = upstreamGroups
        for (index, group) in groups.enumerated() {
            guard let first = groups.firstIndex(of: group), first != index,
                upstreams[first].paths.equivalence != upstreams[index].paths.equivalence,
                let route = matchable.first(where: { $0.route.upstream == index })
            else { continue }
            context.error(
                "\(route.path).upstream: \(quoted(upstreams[index].name)) shares a server with "
                    + "\(quoted(upstreams[first].name)), and their paths say that it reads "
                    + "differently", at: route.mark)
        }
    }

    private func report(_ problem: RouteProblem) {
        let route = matchable[problem.routeIndex]
        if case .weaker(let strict, let path) = problem.kind {
            let below = route.route.settingsBelow(matchable[strict].route)
            let settings = below == ["mode"] ? "" : " in \(below.joined(separator: ", "))"
            context.error(
                "\(route.path).attest.mode: weaker than that of the route at "
                    + "\(place(strict))\(settings): with another Host, header or path the same "
                    + "request for \(quoted(path)) of the upstream comes through here "
                    + "(allow_weaker: true permits it)", at: route.modeMark)
            return
        }
        context.error("\(route.path).path: \(message(problem))", at: route.pathMark)
    }

    private func message(_ problem: RouteProblem) -> String {
        switch problem.kind {
        case .neverMatches(let earlier):
            let isPlain = [matchable[problem.routeIndex], matchable[earlier]].allSatisfy {
                $0.route.hosts.isEmpty && $0.route.headers.isEmpty
            }
            let isSpelled =
                matchable[problem.routeIndex].route.path == matchable[earlier].route.path
            return "never matches in full: the route at \(place(earlier)) has the same path"
                + (isSpelled ? "" : " for an upstream that reads it by its paths")
                + (isPlain ? "" : ", hosts and headers") + " and takes one of its methods"
        case .undecided(let earlier):
            return "a request may meet its headers and those of the route at \(place(earlier)), "
                + "and neither asks for more: add a header to one of them"
        case .shadowed(let other):
            return "never matches in full: routes that ask for more headers, that at "
                + "\(place(other)) among them, take every request"
        case .tooManyConditions:
            return "the routes up to this one have more than \(RouteTable.conditionCountMax) "
                + "different conditions on headers"
        case .pathInvalid(let fault): return "is not a path that a request can have: \(fault.code)"
        case .prefixWithoutSlash: return "is a prefix that does not end in /"
        case .methodInvalid(let name): return "\(quoted(name)) is not a method"
        case .weaker: return "is weaker than another route"
        }
    }

    private func place(_ index: Int) -> String {
        let mark = matchable[index].mark
        return "\(mark.line):\(mark.column)"
    }

    /// A number for each upstream, the same for those that share a server.
    private var upstreamGroups: [Int] {
        var groups = Array(upstreams.indices)
        for (index, upstream) in upstreams.enumerated() {
            let servers = Set(upstream.servers.map(\.endpoint))
            for other in 0..<index
            where !servers.isDisjoint(with: upstreams[other].servers.map(\.endpoint)) {
                let (old, new) = (groups[index], groups[other])
                groups = groups.map { $0 == old ? new : $0 }
            }
        }
        return groups
    }
}
