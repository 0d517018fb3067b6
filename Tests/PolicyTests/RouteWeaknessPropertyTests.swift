import HTTP
import Policy
import Testing

/// Random routes against every request that could tell them apart.
@Suite("No way around a stricter route")
struct RouteWeaknessPropertyTests {}

extension RouteWeaknessPropertyTests {
    private struct Random {
        var state: UInt64

        mutating func below(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }

        mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }
    }

    private static let patterns: [PathPattern] = [
        .prefix("/"), .prefix("/a/"), .exact("/a"), .exact("/a/"), .exact("/a/b"), .prefix("/b/"),
        .exact("/b/b"),
    ]
    private static let paths = [
        "/", "/x", "/a", "/a/", "/a/b", "/a/b/", "/a/c", "/b", "/b/", "/b/b", "/b/b/", "/b/c",
        "/a/b/c", "/b/a/b", "/a/a", "/a/a/", "/a/a/b", "/a/b/b", "/b/a", "/b/b/b", "/b/a/c",
    ]
    private static let requests: [Request] = paths.flatMap { path in
        ["GET", "POST"].flatMap { method in
            ["a.org", "x.a.org", "b.org", "c.org"].flatMap { host in
                [[], ["X: 1"], ["X: 2"], ["Y: 1"], ["X: 1", "Y: 2"], ["X: 2", "Y: 2"]].map {
                    lines in
                    Request(method, path, host: host, lines: lines)
                }
            }
        }
    }

    private static func routes(_ random: inout Random) -> [Route] {
        (0..<2 + random.below(4)).map { _ in
            var made = route(
                random.pick(patterns), random.pick([[], [], ["POST"]]),
                random.pick([.off, .enforce, .enforce]),
                hosts: random.pick([[], [], ["a.org"], ["*.a.org"], ["b.org", "a.org"]]),
                headers: random.pick([[], [], [.equals("x", "1")], [.present("x")], [.absent("y")]]
                ),
                upstream: random.pick([0, 0, 0, 1]))
            guard random.below(5) == 0 else { return made }
            switch made.path {
            case .prefix: made.rewrite = .prefix(random.pick(["/", "/a/", "/b/"]))
            case .exact: made.rewrite = .path(random.pick(["/a/b", "/b"]))
            }
            return made
        }
    }

    /// What goes upstream, worked out in another way than the table does.
    private static func forwarded(_ route: Route, _ path: String) -> String {
        switch (route.path, route.rewrite) {
        case (.prefix(let prefix), .prefix(let replacement)?):
            if path.hasPrefix(prefix) { return replacement + path.dropFirst(prefix.count) }
            return replacement == "/" ? "/" : String(replacement.dropLast())
        case (.exact, .path(let replacement)?): return replacement
        default: return path
        }
    }

    @Test("what is not refused has none, and what is refused has one")
    func random() {
        var random = Random(state: 0x5A11_0009)
        var (soundCount, weakCount) = (0, 0)
        while soundCount < 150 {
            let routes = Self.routes(&random)
            let table = RouteTable(routes)
            guard table.problems.isEmpty else { continue }
            let problems = RouteWeakness.problems(
                in: routes, table: table, upstreamGroups: [0, 1])
            var demands: [String: Set<AttestMode>] = [:]
            for request in Self.requests {
                guard let index = table.find(request), let upstream = routes[index].upstream else {
                    continue
                }
                let place = Self.forwarded(routes[index], request.path)
                demands["\(upstream) \(request.method) \(place)", default: []]
                    .insert(routes[index].attest.mode)
            }
            let isWeak = demands.values.contains { $0.count > 1 }
            #expect(isWeak == !problems.isEmpty, "\(routes)")
            if isWeak { weakCount += 1 } else { soundCount += 1 }
        }
        #expect(weakCount > 20)
    }
}
