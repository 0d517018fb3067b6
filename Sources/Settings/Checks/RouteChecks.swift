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
            return "never matches in full: the route at \(place(earlier)) has the same path"
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
