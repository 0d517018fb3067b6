import HTTP

public enum RouteMatch: Equatable, Sendable {
    /// Index into the routes that the table was made of.
    case route(Int)
    case none
}

/// Which route a request takes.
///
/// **The path decides, then the method.** Among the patterns that cover the path the most specific
/// one decides alone: exact before prefix, longer prefix before shorter. An exact pattern covers
/// its path with and without one trailing slash; a prefix `/x/*` covers `/x/`, all below it, and
/// `/x`. A pattern that spells the path exactly comes before one that covers it by its trailing
/// slash.
///
/// **No way around a route.** Of the routes with the deciding pattern the one that names the method
/// is taken; HEAD counts as GET unless named; a route without methods takes what no other names.
/// When none takes the method there is no match: never does a request fall through to a less
/// specific, perhaps weaker, route. Servers disagree whether `/x/` is `/x` or below it: where an
/// exact pattern covers only by the slash and the prefix `/x/*` is there too, the exact one
/// decides, except that of two routes for the method the one that demands more is taken
/// (``AttestPolicy`` mode, then rollout).
///
/// The order of routes means nothing. A table with ``problems`` matches nothing.
/// A class: it is looked into for every request, and a value would be copied for it.
public final class RouteTable: Sendable {
    private let exact: PathIndex
    private let exactTables: [MethodTable]
    private let prefix: PathIndex
    private let prefixTables: [MethodTable]
    /// How much each route demands: 0 for nothing, 1 observed, 2... enforced for some or all.
    private let demands: [Int]

    /// What the configuration check has to refuse.
    public let problems: [RouteProblem]

    public init(_ routes: [Route]) {
        var exactPatterns = PatternCollection()
        var prefixPatterns = PatternCollection()
        var problems: [RouteProblem] = []
        for (index, route) in routes.enumerated() {
            let found: RouteProblem.Kind? =
                switch route.path {
                case .exact(let path): exactPatterns.insert(route, index, path)
                case .prefix(let path):
                    path.utf8.last == 0x2F
                        ? prefixPatterns.insert(route, index, path) : .prefixWithoutSlash
                }
            if let found { problems.append(RouteProblem(routeIndex: index, kind: found)) }
        }
        exact = PathIndex(exactPatterns.paths)
        exactTables = exactPatterns.tables
        prefix = PathIndex(prefixPatterns.paths)
        prefixTables = prefixPatterns.tables
        demands = routes.map(\.attest.demand)
        self.problems = problems
    }

    /// The route for a request.
    ///
    /// - Parameters:
    ///   - method: as received.
    ///   - path: in the normal form of `TargetPath`. `*` matches nothing.
    public func match(method: Span<UInt8>, path: Span<UInt8>) -> RouteMatch {
        guard !path.isEmpty, path[0] == 0x2F, problems.isEmpty else { return .none }
        var hash = PathIndex.hashStart
        var hashBefore = hash
        var longestPrefix: Int?
        for index in 0..<path.count {
            hashBefore = hash
            hash = PathIndex.hash(hash, path[index])
            if path[index] == 0x2F,
                let found = prefix.value(hash: hash, path: path, byteCount: index + 1)
            {
                longestPrefix = found
            }
        }
        if let found = exact.value(hash: hash, path: path, byteCount: path.count) {
            return result(exactTables[found].route(method: method))
        }
        let slash = slashTables(path, hash: hash, hashBefore: hashBefore)
        if let table = slash.exact {
            let route = exactTables[table].route(method: method)
            let other = slash.prefix.flatMap { prefixTables[$0].route(method: method) }
            return result(stricter(route, other))
        }
        guard let table = slash.prefix ?? longestPrefix else { return .none }
        return result(prefixTables[table].route(method: method))
    }

    /// The patterns that cover `path` when its trailing slash is taken away or one is added.
    @inline(__always)
    private func slashTables(
        _ path: Span<UInt8>, hash: UInt64, hashBefore: UInt64
    ) -> (exact: Int?, prefix: Int?) {
        let byteCount = path.count
        if path[byteCount - 1] == 0x2F {
            // `/x//` is not `/x/` with one more: only where empty segments are read literally.
            let isSingle = byteCount > 1 && path[byteCount - 2] != 0x2F
            return (
                isSingle
                    ? exact.value(hash: hashBefore, path: path, byteCount: byteCount - 1) : nil,
                prefix.value(hash: hash, path: path, byteCount: byteCount)
            )
        }
        let slashed = PathIndex.hash(hash, 0x2F)
        return (
            exact.value(hash: slashed, path: path, byteCount: byteCount, addingSlash: true),
            prefix.value(hash: slashed, path: path, byteCount: byteCount, addingSlash: true)
        )
    }

    /// Whether the route of `match` looks at assertions at all.
    func isAttested(_ match: RouteMatch) -> Bool {
        if case .route(let route) = match { demands[route] > 0 } else { false }
    }

    /// The match that lets less pass; nil for two routes that both enforce.
    func strictest(_ match: RouteMatch, _ other: RouteMatch) -> RouteMatch? {
        guard case .route(let left) = match, case .route(let right) = other else {
            return RouteMatch.none
        }
        guard left != right else { return match }
        guard demands[left] < 2 || demands[right] < 2 else { return nil }
        return demands[right] > demands[left] ? other : match
    }

    private func stricter(_ route: Int?, _ other: Int?) -> Int? {
        guard let route, let other, demands[other] > demands[route] else { return route }
        return other
    }

    private func result(_ route: Int?) -> RouteMatch {
        if let route { .route(route) } else { .none }
    }
}

/// Patterns of one kind while a table is made.
private struct PatternCollection {
    var paths: [[UInt8]] = []
    var tables: [MethodTable] = []
    private var positions: [[UInt8]: Int] = [:]

    mutating func insert(_ route: Route, _ index: Int, _ path: String) -> RouteProblem.Kind? {
        for method in route.methods where !isMethod(method) { return .methodInvalid(method) }
        let normal: [UInt8]
        do {
            normal = try TargetPath.normalize(pattern: Array(path.utf8))
        } catch { return .pathInvalid(error) }
        let position = positions[normal] ?? paths.count
        if position == paths.count {
            positions[normal] = position
            paths.append(normal)
            tables.append(MethodTable())
        }
        let earlier = tables[position].insert(route: index, methods: route.methods)
        return earlier.map { .neverMatches(earlier: $0) }
    }

    /// What a request's head may hold as its method, by `RequestHead`.
    private func isMethod(_ name: String) -> Bool {
        let isSpelled = name.utf8.allSatisfy { byte in
            (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D
                || byte == 0x5F
        }
        return isSpelled && !name.isEmpty && name.utf8.count <= 32 && name != "CONNECT"
    }
}

extension AttestPolicy {
    /// Orders policies by what they refuse.
    fileprivate var demand: Int {
        switch mode {
        case .off: 0
        case .observe: 1
        case .enforce: 1 + rolloutPercent
        }
    }
}
