import HTTP
import Policy

/// Checks conditions between routes: each can match, and none is a way around another.
struct RouteChecks {
    /// The routes whose matches and demands are known.
    let matchable: [Int]
    private let routes: [Route]
    private let upstreams: [UpstreamSettings]
    private let context: ReadingContext

    init(routes: [Route], upstreams: [UpstreamSettings], context: ReadingContext) {
        matchable = routes.indices.filter { index in
            ["path", "methods", "hosts", "headers", "attest.mode"].allSatisfy {
                !context.isFaulty("routes[\(index)].\($0)")
            }
        }
        self.routes = matchable.map { routes[$0] }
        self.upstreams = upstreams
        self.context = context
    }

    func run() {
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
        warnOfUnguarded()
    }

    /// Warns of an exact path that looks as if it guarded all paths below it.
    private func warnOfUnguarded() {
        for (index, route) in routes.enumerated() {
            guard case .exact(let path) = route.path, path.utf8.count > 1, path.hasSuffix("/"),
                route.attest.mode != .off, !routes.contains(where: { $0.path == .prefix(path) })
            else { continue }
            context.warning(
                "is this one path, with or without its slash, and nothing below it: write "
                    + "\(quoted(path + "*")) to guard that too", at: "\(self.path(index)).path")
        }
    }

    /// The path of one of ``routes`` in the configuration.
    private func path(_ index: Int) -> String { "routes[\(matchable[index])]" }

    /// Warns of a spelling that is a way around a route. It is no error, because no RFC tells
    /// servers to read paths so, though many do.
    private func warn(_ gap: RouteSpellings.Gap) {
        let name = routes[gap.route].upstream.map { upstreams[$0].name } ?? ""
        context.warning(
            "guards one spelling: the route at \(place(gap.weaker)) demands "
                + "less and takes \(gap.paths.map(quoted).joined(separator: ", ")), which many "
                + "servers read alike: leave nothing weaker around it, or say in "
                + "upstreams.\(name).paths how that upstream reads them",
            at: "\(path(gap.route)).path")
    }

    /// Reports upstreams that share a server and read paths in different ways.
    private func checkSharedServers() {
        let groups = upstreamGroups
        for (index, group) in groups.enumerated() {
            guard let first = groups.firstIndex(of: group), first != index,
                upstreams[first].paths.equivalence != upstreams[index].paths.equivalence,
                let route = routes.firstIndex(where: { $0.upstream == index })
            else { continue }
            context.error(
                "\(path(route)).upstream: \(quoted(upstreams[index].name)) shares a server with "
                    + "\(quoted(upstreams[first].name)), and their paths say that it reads "
                    + "differently", at: context.mark(path(route)))
        }
    }

    private func report(_ problem: RouteProblem) {
        let path = path(problem.routeIndex)
        guard case .weaker(let strict, let upstreamPath) = problem.kind else {
            return context.error(message(problem), at: "\(path).path")
        }
        let below = routes[problem.routeIndex].settingsBelow(routes[strict])
        let settings = below == ["mode"] ? "" : " in \(below.joined(separator: ", "))"
        context.error(
            "weaker than that of the route at \(place(strict))\(settings): with another Host, "
                + "header or path the same request for \(quoted(upstreamPath)) of the upstream "
                + "comes through here (allow_weaker: true permits it)", at: "\(path).attest.mode")
    }

    private func message(_ problem: RouteProblem) -> String {
        switch problem.kind {
        case .neverMatches(let earlier):
            let pair = (routes[problem.routeIndex], routes[earlier])
            let isPlain = [pair.0, pair.1].allSatisfy { $0.hosts.isEmpty && $0.headers.isEmpty }
            let shared = pair.0.methods.filter(pair.1.methods.contains)
            return "has the path\(isPlain ? "" : ", hosts and headers") of the route at "
                + place(earlier)
                + (pair.0.path == pair.1.path ? "" : " for an upstream that reads it by its paths")
                + ", and both take "
                + (shared.isEmpty ? "every method" : shared.joined(separator: ", "))
                + ": remove one, or tell them apart by methods, hosts or headers"
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

    private func place(_ index: Int) -> String { context.place(path(index)) }

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
