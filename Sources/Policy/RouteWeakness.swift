/// Finds routes by which a request gets around a stricter one.
///
/// The client chooses host and headers, and upstreams seldom treat them as the gateway does. So of
/// all routes that lead one method to one place (path, after rewriting) of one upstream, whatever
/// the host and the headers, none may demand less than another, unless its configuration says so
/// (``Route/allowsWeaker``).
public struct RouteWeakness {
    private let routes: [Route]
    private let table: RouteTable
    private let upstreamGroups: [Int]
    /// The byte that stands for whatever no pattern names. No path in normal form holds it.
    private static let anyByte: UInt8 = 0x01

    private struct Place: Hashable {
        var upstreamGroup: Int
        var method: String
        var path: [UInt8]
    }

    /// - Parameter upstreamGroups: a number for each upstream, the same for those that share a
    ///   server.
    /// - Returns: the first finding of each weaker route, in the order of routes.
    public static func problems(
        in routes: [Route], table: RouteTable, upstreamGroups: [Int]
    ) -> [RouteProblem] {
        guard table.problems.isEmpty, routes.indices.contains(where: table.strictness.isLooking)
        else { return [] }
        // The table itself ensures this for path and method.
        guard table.usesTraits || routes.contains(where: { $0.rewrite != nil }) else { return [] }
        return RouteWeakness(routes: routes, table: table, upstreamGroups: upstreamGroups).find()
    }

    private func find() -> [RouteProblem] {
        var reached: [Place: Set<Int>] = [:]
        let methods = Set(routes.flatMap(\.methods) + ["GET", "HEAD", "~"])
        for path in paths() {
            for method in methods {
                let methodBytes = Array(method.utf8)
                for hostClass in 0..<table.hostClassCount {
                    let candidates = table.candidates(
                        method: methodBytes.span, path: path.span, hostClass: hostClass)
                    for route in candidates {
                        guard let place = place(of: route, method, path) else { continue }
                        reached[place, default: []].insert(route)
                    }
                }
            }
        }
        var found: [Int: RouteProblem.Kind] = [:]
        for (place, indices) in reached {
            let classes = Set(indices.map(table.strictness.strictnessClass))
            guard classes.count > 1 || indices.contains(where: { routes[$0].rollout != nil }) else {
                continue
            }
            for index in indices where !routes[index].allowsWeaker {
                guard let other = stricter(than: index, among: indices) else { continue }
                let kind = RouteProblem.Kind.weaker(than: other, path: shown(place.path))
                // So that each run finds the same, however the dictionary is ordered.
                if let other = found[index], !isSimpler(kind, than: other) { continue }
                found[index] = kind
            }
        }
        return found.map { RouteProblem(routeIndex: $0.key, kind: $0.value) }
            .sorted { $0.routeIndex < $1.routeIndex }
    }

    /// The first route that demands something that the one at `index` does not; of several, one
    /// that no other outdoes.
    private func stricter(than index: Int, among indices: Set<Int>) -> Int? {
        let strictness = table.strictness
        let stricter = indices.filter {
            !strictness.covers(index, $0) || routes[index].mayFallBehind(routes[$0])
        }
        return stricter.filter { route in
            stricter.allSatisfy { strictness.covers(route, $0) || !strictness.covers($0, route) }
        }.min()
    }

    private func isSimpler(_ kind: RouteProblem.Kind, than other: RouteProblem.Kind) -> Bool {
        guard case .weaker(let route, let path) = kind,
            case .weaker(let otherRoute, let otherPath) = other
        else { return false }
        return (path.utf8.count, path, route) < (otherPath.utf8.count, otherPath, otherRoute)
    }

    private func place(of index: Int, _ method: String, _ path: [UInt8]) -> Place? {
        guard let upstream = routes[index].upstream else { return nil }
        let route = routes[index]
        let forwarded = route.rewrittenPath(path, as: route.pathEquivalence)
        guard let read = try? route.pathEquivalence.representative(of: forwarded) else {
            return nil
        }
        return Place(
            upstreamGroup: upstreamGroups[upstream], method: method, path: read)
    }

    private func shown(_ path: [UInt8]) -> String {
        String(
            decoding: path.flatMap { $0 == Self.anyByte ? Array("...".utf8) : [$0] }, as: UTF8.self)
    }

    /// Paths that stand for all others: patterns make no difference between the paths around one of
    /// them.
    private func paths() -> Set<[UInt8]> {
        var paths: Set<[UInt8]> = []
        for route in routes {
            switch route.path {
            case .exact(let text):
                let path = Array(text.utf8)
                paths.insert(path)
                paths.insert(path.last == 0x2F ? path.dropLast() : path + [0x2F])
            case .prefix(let text):
                let path = Array(text.utf8)
                paths.formUnion([path, path.dropLast(), path + [Self.anyByte]])
            }
        }
        let rewriting = routes.filter { $0.rewrite != nil }
        for _ in 0..<2 {
            // The targets of rewriting, and the paths that are rewritten to these.
            for path in paths {
                for route in rewriting {
                    if let image = route.rewrittenPath(path) { paths.insert(image) }
                    if let origin = route.origin(ofRewritten: path) { paths.insert(origin) }
                }
            }
        }
        paths.remove([])
        return paths
    }
}
