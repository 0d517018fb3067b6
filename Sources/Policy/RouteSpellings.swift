/// Another spelling of a path, which some servers take for the same.
public enum PathSpelling: CaseIterable, Sendable {
    case letterCase
    case suffix
    case secondDecoding
}

/// Finds routes that guard a path by its spelling alone: the same path, spelled in another way that
/// many servers take for the same, leads to the same upstream by a route that demands less.
///
/// This is no fault of the routes, because an upstream that follows RFC 3986 has no such spellings.
public struct RouteSpellings {
    /// A route that requests may get around.
    public struct Gap: Equatable, Sendable {
        public var route: Int
        public var weaker: Int
        /// One path of each kind of spelling that the weaker route takes.
        public var paths: [String]

        public init(route: Int, weaker: Int, paths: [String]) {
            self.route = route
            self.weaker = weaker
            self.paths = paths
        }
    }

    private let routes: [Route]
    private let table: RouteTable
    private let upstreamGroups: [Int]
    private let known: [Set<PathSpelling>]
    /// The text that stands for whatever no pattern names.
    private static let anything = "~"

    /// - Parameters:
    ///   - upstreamGroups: as for ``RouteWeakness``.
    ///   - known: for each upstream the spellings whose reading the configuration states.
    /// - Returns: at most one for each route, in their order.
    public static func gaps(
        in routes: [Route], table: RouteTable, upstreamGroups: [Int], known: [Set<PathSpelling>]
    ) -> [Gap] {
        guard table.problems.isEmpty else { return [] }
        let spellings = RouteSpellings(
            routes: routes, table: table, upstreamGroups: upstreamGroups, known: known)
        return routes.indices.compactMap(spellings.gap)
    }

    private func gap(at index: Int) -> Gap? {
        guard table.strictness.isEnforcing(index), let upstream = routes[index].upstream else {
            return nil
        }
        var gap: Gap?
        for spelling in PathSpelling.allCases where !known[upstream].contains(spelling) {
            for path in Self.spelled(routes[index].path, spelling) {
                guard let weaker = weaker(than: index, at: path) else { continue }
                let shown = path.replacing(Self.anything, with: "...")
                if gap == nil { gap = Gap(route: index, weaker: weaker, paths: []) }
                gap?.paths.append(shown)
                break
            }
        }
        return gap
    }

    /// A weaker route to the same place that takes `path`, for a host and a method of this one.
    private func weaker(than index: Int, at path: String) -> Int? {
        let own = Array(Self.sample(routes[index].path).utf8)
        let other = Array(path.utf8)
        // `~` stands for all hosts and methods that no route names.
        let named = Set(routes.flatMap(\.methods) + ["GET", "~"]).sorted()
        let methods = routes[index].methods.isEmpty ? named : routes[index].methods
        for method in methods.map({ Array($0.utf8) }) {
            for hostClass in 0..<table.hostClassCount {
                let taken = table.candidates(
                    method: method.span, path: own.span, hostClass: hostClass)
                guard taken.contains(index) else { continue }
                let found = table.candidates(
                    method: method.span, path: other.span, hostClass: hostClass)
                if let weaker = found.first(where: { isWeaker($0, other, than: index, own) }) {
                    return weaker
                }
            }
        }
        return nil
    }

    private func isWeaker(
        _ index: Int, _ path: [UInt8], than strict: Int, _ strictPath: [UInt8]
    ) -> Bool {
        guard index != strict, !routes[index].allowsWeaker, !table.strictness.covers(index, strict),
            let upstream = routes[index].upstream, let guarded = routes[strict].upstream,
            upstreamGroups[upstream] == upstreamGroups[guarded]
        else { return false }
        // A rewritten path may be a different one for every server.
        let left = Self.coarsest(routes[index].rewrittenPath(path, as: .exact))
        return left == Self.coarsest(routes[strict].rewrittenPath(strictPath, as: .exact))
    }

    private static func coarsest(_ path: [UInt8]) -> [UInt8]? {
        var equivalence = PathEquivalence()
        equivalence.ignoresCase = true
        equivalence.ignoresSuffixes = true
        equivalence.decodesTwice = true
        return try? equivalence.representative(of: path)
    }

    // MARK: spellings

    private static func sample(_ pattern: PathPattern) -> String {
        switch pattern {
        case .exact(let path): path
        case .prefix(let path): path + anything
        }
    }

    private static func spelled(_ pattern: PathPattern, _ spelling: PathSpelling) -> [String] {
        let path = sample(pattern)
        var segments = path.split(separator: "/", omittingEmptySubsequences: false)
            .map(String.init)
        if case .prefix = pattern { segments.removeLast() }
        let ending = String(path.dropFirst(segments.joined(separator: "/").count))
        var found: [String] = []
        // From the last segment on, because the pattern that the last one escapes is the longest.
        for index in segments.indices.reversed() where !segments[index].isEmpty {
            for other in spelled(segments[index], spelling) {
                var changed = segments
                changed[index] = other
                found.append(changed.joined(separator: "/") + ending)
            }
        }
        guard spelling == .suffix, case .exact = pattern, path.last != "/" else { return found }
        return [path + ".json"] + found
    }

    private static func spelled(_ segment: String, _ spelling: PathSpelling) -> [String] {
        switch spelling {
        case .letterCase:
            let other = [segment.uppercased(), segment.lowercased()].first { $0 != segment }
            return other.map { [$0] } ?? []
        case .suffix: return [segment + "."]
        case .secondDecoding:
            guard let first = segment.utf8.first, first != 0x25 else { return [] }
            let digits = String(first, radix: 16, uppercase: true)
            return ["%25" + digits + segment.dropFirst()]
        }
    }
}
