public import HTTP

/// The reason why each route was or was not taken: for `sallyport route`.
///
/// Reads the rules of ``RouteTable`` one after the other, route by route, without its tables.
public struct RouteExplanation {
    public enum Verdict: Equatable, Sendable {
        case taken
        case otherPath
        case otherHost
        /// Another route's path is more specific.
        case lessSpecificPath
        case lessSpecificHost
        case otherMethod
        /// The route takes any method, but another route names this one.
        case methodNamedElsewhere
        case header(HeaderCondition)
        case lessSpecificHeaders
        /// The path with its slash changed has a route that demands more.
        case lessStrict
        /// The path with its slash changed has a route that demands other things.
        case otherDemands
    }

    /// The verdicts, one for each route of the table.
    public private(set) var verdicts: [Verdict]
    /// The path in the form in which it was compared.
    public private(set) var readPath: [UInt8]
    private let routes: [Route]
    private var unmet: Set<HeaderCondition> = []

    /// - Parameters:
    ///   - path: the path in normal form.
    ///   - authority: the value of Host, or empty.
    ///   - trustsForwarding: true if the peer is trusted with the client's address.
    public init(
        routes: [Route], method: String, path: [UInt8], authority: Span<UInt8>,
        fields: [FieldRange], bytes: Span<UInt8>, trustsForwarding: Bool
    ) {
        let used = Set(routes.filter { $0.upstream != nil }.map(\.pathEquivalence))
        let equivalences = used.isEmpty ? [.exact] : used.sorted { $0.rank < $1.rank }
        let explanations = equivalences.map { equivalence in
            RouteExplanation(
                routes: routes, method: method, path: path, equivalence: equivalence,
                authority: authority, fields: fields, bytes: bytes,
                trustsForwarding: trustsForwarding)
        }
        func isTaken(_ place: Int, _ fits: (Route) -> Bool) -> Bool {
            let taken = explanations[place].verdicts.firstIndex(of: .taken)
            return taken.map { fits(routes[$0]) } ?? false
        }
        // In the order of ``RouteTable``.
        let places = equivalences.indices
        let place =
            places.first { place in
                isTaken(place) { $0.upstream != nil && $0.pathEquivalence == equivalences[place] }
            } ?? places.first { isTaken($0) { $0.upstream == nil } } ?? 0
        self = explanations[place]
    }

    /// Explains a match by one reading of the path alone.
    private init(
        routes original: [Route], method: String, path: [UInt8], equivalence: PathEquivalence,
        authority: Span<UInt8>, fields: [FieldRange], bytes: Span<UInt8>, trustsForwarding: Bool
    ) {
        let path = (try? equivalence.representative(of: path)) ?? path
        readPath = path
        let routes = original.map { route in
            var read = route
            read.path = equivalence.read(route.path)
            return read
        }
        self.routes = routes
        for condition in Set(routes.flatMap(\.headers)) {
            let test = HeaderTest(condition)
            guard !test.holds(fields, bytes, trustsForwarding: trustsForwarding) else { continue }
            unmet.insert(condition)
        }
        let host = HostName.normalized(authority) ?? ""
        verdicts = routes.map { _ in .otherPath }
        var rest = Array(routes.indices)
        keep(&rest, .otherPath) { Self.specificity(routes[$0].path, of: path) != nil }
        let hostRanks = routes.map { Self.hostRank($0.hosts, host) }
        keep(&rest, .otherHost) { hostRanks[$0] != nil }
        let ranks = routes.map { Self.specificity($0.path, of: path) ?? 0 }
        let best = rest.map { ranks[$0] }.max() ?? 0
        // An exact pattern that covers by its slash is compared with the prefix of the same path.
        let slashed = best == Self.bySlash ? Self.slashPrefix(of: path) : nil
        var beside = rest.filter { routes[$0].path == slashed }
        keep(&rest, .lessSpecificPath) { ranks[$0] == best || routes[$0].path == slashed }
        rest.removeAll { beside.contains($0) }
        narrow(&rest, method, hostRanks)
        narrow(&beside, method, hostRanks)
        guard let first = rest.first else {
            for index in beside { verdicts[index] = .lessSpecificPath }
            return
        }
        guard let other = beside.first else {
            verdicts[first] = .taken
            return
        }
        let strictness = StrictnessOrder(routes)
        if strictness.covers(first, other) {
            (verdicts[first], verdicts[other]) = (.taken, .lessSpecificPath)
        } else if strictness.covers(other, first) {
            (verdicts[first], verdicts[other]) = (.lessStrict, .taken)
        } else {
            (verdicts[first], verdicts[other]) = (.otherDemands, .otherDemands)
        }
    }

    private mutating func keep(
        _ rest: inout [Int], _ verdict: Verdict, _ isKept: (Int) -> Bool
    ) {
        for index in rest where !isKept(index) { verdicts[index] = verdict }
        rest.removeAll { !isKept($0) }
    }

    /// Narrows routes with the same path by host, method and headers.
    private mutating func narrow(
        _ rest: inout [Int], _ method: String, _ hostRanks: [Int?]
    ) {
        let best = rest.compactMap { hostRanks[$0] }.max()
        keep(&rest, .lessSpecificHost) { hostRanks[$0] == best }
        let routes = routes
        if let named = ([method] + (method == "HEAD" ? ["GET"] : [])).first(where: { name in
            rest.contains { routes[$0].methods.contains(name) }
        }) {
            let unnamed = rest.filter { routes[$0].methods.isEmpty }
            keep(&rest, .otherMethod) { routes[$0].methods.contains(named) }
            for index in unnamed { verdicts[index] = .methodNamedElsewhere }
        } else {
            keep(&rest, .otherMethod) { routes[$0].methods.isEmpty }
        }
        for index in rest {
            if let condition = routes[index].headers.first(where: unmet.contains) {
                verdicts[index] = .header(condition)
            }
        }
        rest.removeAll { !unmet.isDisjoint(with: routes[$0].headers) }
        let ranks = rest.map { index in
            HeaderChoice.Alternative(
                route: index, required: 0, conditions: routes[index].headers
            ).rank
        }
        guard let top = ranks.max(), let place = ranks.firstIndex(of: top) else { return }
        let first = rest[place]
        keep(&rest, .lessSpecificHeaders) { $0 == first }
    }

    private static let bySlash = Int.max - 1

    /// The specificity of a pattern for `path`; nil if it does not cover it.
    private static func specificity(_ pattern: PathPattern, of path: [UInt8]) -> Int? {
        switch pattern {
        case .exact(let text):
            let exact = Array(text.utf8)
            if exact == path { return Int.max }
            if exact + [0x2F] == path { return exact.last == 0x2F ? nil : bySlash }
            return path + [0x2F] == exact ? bySlash : nil
        case .prefix(let text):
            let prefix = Array(text.utf8)
            if path + [0x2F] == prefix { return prefix.count }
            return path.starts(with: prefix) ? prefix.count : nil
        }
    }

    private static func slashPrefix(of path: [UInt8]) -> PathPattern {
        let text = String(decoding: path, as: UTF8.self)
        return .prefix(path.last == 0x2F ? text : text + "/")
    }

    /// The specificity of the pattern for `host`: 0 for a route of every host; nil if none of
    /// `hosts` covers it.
    private static func hostRank(_ hosts: [HostPattern], _ host: String) -> Int? {
        guard !hosts.isEmpty else { return 0 }
        return hosts.compactMap { pattern -> Int? in
            switch pattern {
            case .exact(let name): name == host ? Int.max : nil
            case .below(let domain): host.hasSuffix(".\(domain)") ? domain.utf8.count : nil
            }
        }.max()
    }
}
