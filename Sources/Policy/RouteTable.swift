public import HTTP

public enum RouteMatch: Equatable, Sendable {
    /// Index into the routes that the table was made of.
    case route(Int)
    case none
}

/// What a request brings to the match beside its method and path.
public struct RequestTraits: Equatable, Sendable {
    /// No host that a route names, no header that a route asks for.
    public static let plain = RequestTraits(hostClass: 0, heldConditions: 0)

    /// As ``HostIndex`` numbers them.
    var hostClass: Int
    /// A bit for each different header condition of the table.
    var heldConditions: UInt64
}

/// Which route a request takes.
///
/// **The path decides, then the host, the method, the headers.** Of the routes that take the
/// request's host, those with the most specific path are looked at: exact before prefix, longer
/// prefix before shorter. An exact pattern covers its path with and without one trailing slash; a
/// prefix `/x/*` covers `/x/`, all below it, and `/x`. A pattern that spells the path exactly comes
/// before one that covers it by its trailing slash. Of those the ones with the most specific host
/// remain: exact before `*.domain`, a longer domain before a shorter one, any host last. Of those,
/// the ones that name the method; HEAD counts as GET unless named; a route without methods takes
/// what no other names. Of those the first whose header conditions hold, more conditions first,
/// then more exact ones.
///
/// **No way around a route.** Each step decides alone: when a later one leaves nothing there is no
/// match, and never does a request fall through to a less specific, perhaps weaker, route. Servers
/// disagree whether `/x/` is `/x` or below it: where an exact pattern covers only by the slash and
/// the prefix `/x/*` is there too, the exact one decides, except that of two routes for the request
/// the one that demands more is taken (``RouteDemand``), and none where each demands what the other
/// does not. That another host or header does not lead to a weaker route is ``RouteWeakness``'s to
/// see to.
///
/// The order of routes means nothing. A table with ``problems`` matches nothing.
/// A class: it is looked into for every request, and a value would be copied for it.
public final class RouteTable: Sendable {
    /// Every different condition on a header is held against each request.
    public static let conditionCountMax = 64

    /// For hosts that no route names.
    private let main: PathTable
    /// For the classes of hosts from 1 on.
    private let hostTables: [PathTable]
    private let hosts: HostIndex
    private let choices: [HeaderChoice]
    private let headerTests: [HeaderTest]
    /// What each route demands, compared with the others.
    let demands: DemandOrder

    /// What the configuration check has to refuse.
    public let problems: [RouteProblem]
    /// Whether ``traits(authority:fields:bytes:trustsForwarding:)`` matter.
    public let usesTraits: Bool

    public init(_ routes: [Route]) {
        var draft = RouteTableDraft()
        for (index, route) in routes.enumerated() { draft.insert(route, index) }
        hosts = HostIndex(draft.hosts)
        let frozen = draft.freeze(hosts)
        main = frozen.tables[0]
        hostTables = Array(frozen.tables.dropFirst())
        choices = frozen.choices
        headerTests = draft.conditions.map(HeaderTest.init)
        usesTraits = !hostTables.isEmpty || !headerTests.isEmpty
        demands = DemandOrder(routes)
        problems = frozen.problems
    }

    /// What the match needs to know of a request's host and headers.
    ///
    /// - Parameters:
    ///   - authority: the value of Host or of the target's authority; empty where there is none.
    ///   - trustsForwarding: whether the peer's word about the client is taken.
    public func traits(
        authority: Span<UInt8>, fields: [FieldRange], bytes: Span<UInt8>, trustsForwarding: Bool
    ) -> RequestTraits {
        guard usesTraits else { return .plain }
        var traits = RequestTraits.plain
        if !hostTables.isEmpty { traits.hostClass = hosts.hostClass(of: authority) }
        for index in 0..<headerTests.count
        where headerTests[index].holds(fields, bytes, trustsForwarding: trustsForwarding) {
            traits.heldConditions |= 1 << UInt64(index)
        }
        return traits
    }

    /// The route for a request.
    ///
    /// - Parameters:
    ///   - method: as received.
    ///   - path: in the normal form of `TargetPath`. `*` matches nothing.
    public func match(
        method: Span<UInt8>, path: Span<UInt8>, traits: RequestTraits = .plain
    ) -> RouteMatch {
        guard !path.isEmpty, path[0] == 0x2F, problems.isEmpty else { return .none }
        let found = find(method: method, path: path, hostClass: traits.hostClass)
        let route = route(found.answer, held: traits.heldConditions)
        if let beside = found.beside {
            return result(stricter(route, self.route(beside, held: traits.heldConditions)))
        }
        return result(route)
    }

    @inline(__always)
    private func find(
        method: Span<UInt8>, path: Span<UInt8>, hostClass: Int
    ) -> PathTable.Found {
        hostClass == 0
            ? main.find(method: method, path: path)
            : hostTables[hostClass - 1].find(method: method, path: path)
    }

    @inline(__always)
    private func route(_ answer: Int?, held: UInt64) -> Int? {
        guard let answer, answer < 0 else { return answer }
        return choices[~answer].route(held: held)
    }

    /// Whether the route of `match` looks at assertions at all.
    func isAttested(_ match: RouteMatch) -> Bool {
        if case .route(let route) = match { demands.isLooking(route) } else { false }
    }

    /// The match that lets less pass; nil for two routes that both enforce.
    func strictest(_ match: RouteMatch, _ other: RouteMatch) -> RouteMatch? {
        guard case .route(let left) = match, case .route(let right) = other else {
            return RouteMatch.none
        }
        guard left != right else { return match }
        guard !demands.isEnforcing(left) || !demands.isEnforcing(right) else { return nil }
        return demands.covers(left, right) ? match : other
    }

    /// Nil where each of the two demands what the other does not.
    private func stricter(_ route: Int?, _ other: Int?) -> Int? {
        guard let route, let other, !demands.covers(route, other) else { return route }
        return demands.covers(other, route) ? other : nil
    }

    private func result(_ route: Int?) -> RouteMatch {
        if let route { .route(route) } else { .none }
    }

    // MARK: what may match

    /// Classes of hosts, that of the unnamed ones included.
    var hostClassCount: Int { hostTables.count + 1 }

    /// Every route that a request of this class of hosts may take, by its headers.
    func candidates(method: Span<UInt8>, path: Span<UInt8>, hostClass: Int) -> [Int] {
        let found = find(method: method, path: path, hostClass: hostClass)
        let routes = candidates(found.answer)
        guard found.beside != nil else { return routes }
        let others = candidates(found.beside)
        guard !others.isEmpty else { return routes }
        return routes.flatMap { route in others.compactMap { stricter(route, $0) } }
    }

    private func candidates(_ answer: Int?) -> [Int] {
        guard let answer else { return [] }
        return answer < 0 ? choices[~answer].alternatives.map(\.route) : [answer]
    }

    /// The patterns that cover a class of hosts, from the least to the most specific.
    func hostPatterns(of hostClass: Int) -> [HostPattern] { hosts.covering(hostClass) }
}
