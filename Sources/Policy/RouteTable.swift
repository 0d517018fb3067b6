public import HTTP

public enum RouteMatch: Equatable, Sendable {
    /// The index of a route, among those that the table was made of.
    case route(Int)
    case none
    /// Upstreams read the path in several ways, and no route is right for all of them.
    case refused(HTTPFault)
}

/// The properties of a request that the match needs beside its method and path.
public struct RequestTraits: Equatable, Sendable {
    /// The traits of a request whose host and headers no route names.
    public static let plain = RequestTraits(hostClass: 0, heldConditions: 0)

    /// The host's class, as ``HostIndex`` numbers them.
    var hostClass: Int
    /// A bit for each different header condition of the table.
    var heldConditions: UInt64
}

/// Finds the route that a request takes.
///
/// **The path decides, then the host, the method, the headers.** Of the routes that accept the
/// request's host, those with the most specific path are considered: exact before prefix, longer
/// prefix before shorter. An exact pattern covers its path with and without one trailing slash; a
/// prefix `/x/*` covers `/x/`, all below it, and `/x`. A pattern that spells the path exactly comes
/// before one that covers it by its trailing slash. Of those, the ones with the most specific host
/// remain: exact before `*.domain`, a longer domain before a shorter one, any host last. Of those,
/// the ones that name the method; HEAD counts as GET unless named; a route without methods accepts
/// those that no other names. Of those, the first whose header conditions hold, more conditions
/// first, then more exact ones.
///
/// **No way around a route.** Each step decides alone: if a later one leaves no route there is no
/// match, and a request never falls through to a less specific, perhaps weaker, route. Servers
/// disagree whether `/x/` is `/x` or below it. If an exact pattern covers only by the slash and the
/// prefix `/x/*` is there too, the exact one decides, but of two routes for the request the one
/// that demands more is taken (``RouteStrictness``), and none if each demands something that the
/// other does not. ``RouteWeakness`` ensures that another host or header does not lead to a weaker
/// route.
///
/// **As the upstream reads it.** A route's upstream may take several spellings of a path for one
/// (``PathEquivalence``): then patterns and path are compared by their representative. If upstreams
/// read differently, a route is taken by the reading of its own upstream, the literal one first.
/// All routes are considered in each reading, so that the most specific decides there too.
///
/// The order of routes means nothing. A table with ``problems`` matches nothing. It is a class
/// because every request reads it, and a value would be copied each time.
public final class RouteTable: Sendable {
    /// The most different conditions on headers. Each is checked against every request.
    public static let conditionCountMax = 64

    /// One table for each way in which upstreams read paths, the literal one first.
    private let readings: [PathReadingTable]
    /// The literal reading, if it is the only one.
    private let literal: PathReadingTable?
    /// The equivalence of each route; nil for a route without an upstream, which fits all of them.
    private let equivalences: [PathEquivalence?]
    private let hosts: HostIndex
    private let headerTests: [HeaderTest]
    /// The strictness of the routes, compared with one another.
    let strictness: StrictnessOrder

    /// The problems that the configuration check has to refuse.
    public let problems: [RouteProblem]
    /// True if ``traits(authority:fields:bytes:trustsForwarding:)`` makes a difference.
    public let usesTraits: Bool

    public init(_ routes: [Route]) {
        let equivalences = routes.map { $0.upstream == nil ? nil : $0.pathEquivalence }
        self.equivalences = equivalences
        let others = Set(equivalences.compactMap(\.self)).subtracting([.exact])
        let drafts = ([.exact] + others.sorted { $0.rank < $1.rank }).map { equivalence in
            var draft = RouteTableDraft(equivalence)
            for (index, route) in routes.enumerated() { draft.insert(route, index) }
            return (equivalence: equivalence, draft: draft)
        }
        let hosts = HostIndex(drafts[0].draft.hosts)
        self.hosts = hosts
        headerTests = drafts[0].draft.conditions.map(HeaderTest.init)
        var problems: [RouteProblem] = []
        var readings: [PathReadingTable] = []
        let isRead = Set(equivalences.compactMap(\.self))
        for (equivalence, draft) in drafts {
            let frozen = draft.freeze(hosts)
            problems += frozen.problems.filter { found in
                !problems.contains { $0.routeIndex == found.routeIndex }
            }
            // If no upstream reads paths literally, the literal reading decides nothing.
            guard isRead.contains(equivalence) || others.isEmpty else { continue }
            readings.append(PathReadingTable(equivalence, frozen))
        }
        self.readings = readings
        literal = readings.count == 1 && readings[0].isLiteral ? readings[0] : nil
        usesTraits = !hosts.patterns.isEmpty || !headerTests.isEmpty
        strictness = StrictnessOrder(routes)
        self.problems = problems.sorted { $0.routeIndex < $1.routeIndex }
    }

    /// The properties of a request's host and headers that the match needs.
    ///
    /// - Parameters:
    ///   - authority: the value of Host or of the target's authority; empty if there is none.
    ///   - trustsForwarding: true if the peer is trusted with the client's address.
    public func traits(
        authority: Span<UInt8>, fields: [FieldRange], bytes: Span<UInt8>, trustsForwarding: Bool
    ) -> RequestTraits {
        guard usesTraits else { return .plain }
        var traits = RequestTraits.plain
        if !hosts.patterns.isEmpty { traits.hostClass = hosts.hostClass(of: authority) }
        for index in 0..<headerTests.count
        where headerTests[index].holds(fields, bytes, trustsForwarding: trustsForwarding) {
            traits.heldConditions |= 1 << UInt64(index)
        }
        return traits
    }

    /// The route for a request.
    ///
    /// - Parameters:
    ///   - method: the method as received.
    ///   - path: the path in the normal form of `TargetPath`. `*` matches nothing.
    public func match(
        method: Span<UInt8>, path: Span<UInt8>, traits: RequestTraits = .plain
    ) -> RouteMatch {
        guard !path.isEmpty, path[0] == 0x2F, problems.isEmpty else { return .none }
        if let literal {
            return literal.match(method: method, path: path, traits: traits, strictness)
        }
        return matchAsRead(method: method, path: path, traits: traits)
    }

    /// Matches in each reading. Whichever is taken, the route is the most specific one for its own
    /// upstream.
    private func matchAsRead(
        method: Span<UInt8>, path: Span<UInt8>, traits: RequestTraits
    ) -> RouteMatch {
        var answer: Int?
        var fault: HTTPFault?
        for reading in readings {
            switch reading.match(method: method, path: path, traits: traits, strictness) {
            case .none: continue
            case .refused(let found): fault = fault ?? found
            case .route(let route):
                guard let equivalence = equivalences[route] else {
                    answer = answer ?? route
                    continue
                }
                if equivalence == reading.equivalence { return .route(route) }
                fault = fault ?? .pathAmbiguous
            }
        }
        if let answer { return .route(answer) }
        return fault.map(RouteMatch.refused) ?? .none
    }

    /// True if the route of `match` checks assertions or bodies.
    func isAttested(_ match: RouteMatch) -> Bool {
        if case .route(let route) = match { strictness.isLooking(route) } else { false }
    }

    /// The match that lets less pass; nil for two different routes that both enforce, or of which
    /// each demands something that the other does not.
    func strictest(_ match: RouteMatch, _ other: RouteMatch) -> RouteMatch? {
        for case .refused(let fault) in [match, other] { return .refused(fault) }
        guard case .route(let left) = match, case .route(let right) = other else {
            return RouteMatch.none
        }
        guard left != right else { return match }
        guard !strictness.isEnforcing(left) || !strictness.isEnforcing(right) else { return nil }
        if strictness.covers(left, right) { return match }
        return strictness.covers(right, left) ? other : nil
    }

    // MARK: what may match

    /// The number of classes of hosts, including that of the unnamed ones.
    public var hostClassCount: Int { hosts.patterns.count + 1 }

    /// Every route that a request of this class of hosts may take, by its headers.
    func candidates(method: Span<UInt8>, path: Span<UInt8>, hostClass: Int) -> [Int] {
        readings.flatMap { reading in
            reading.candidates(method: method, path: path, hostClass: hostClass, strictness)
                .filter { (equivalences[$0] ?? reading.equivalence) == reading.equivalence }
        }
    }

    /// The patterns that cover a class of hosts, from the least to the most specific.
    public func hostPatterns(of hostClass: Int) -> [HostPattern] { hosts.covering(hostClass) }

    /// The class of the host in `authority`, the value of Host; 0 for one that no route names.
    public func hostClass(of authority: Span<UInt8>) -> Int {
        hosts.patterns.isEmpty ? 0 : hosts.hostClass(of: authority)
    }
}
