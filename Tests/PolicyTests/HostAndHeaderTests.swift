import HTTP
import Policy
import Testing

@Suite("Matching hosts")
struct HostMatchTests {}

extension HostMatchTests {
    private func find(_ table: RouteTable, _ host: String?, _ path: String = "/") -> Int? {
        table.find(Request("GET", path, host: host))
    }

    @Test("one host has many spellings")
    func spellings() {
        let table = RouteTable([
            route(.prefix("/"), hosts: ["API.example.com."]),
            route(.prefix("/"), hosts: ["10.0.0.1"]),
            route(.prefix("/"), hosts: ["[2001:DB8::1]"]),
        ])
        #expect(table.problems.isEmpty)
        for host in [
            "api.example.com", "API.EXAMPLE.COM", "api.example.com.", "Api.Example.Com.:8443",
            "api.example.com:80",
        ] {
            #expect(find(table, host) == 0, "\(host)")
        }
        #expect(find(table, "10.0.0.1:8080") == 1)
        for host in [
            "[2001:db8::1]", "[2001:0DB8:0:0:0:0:0:1]:443", "[2001:db8::0.0.0.1]",
            "[2001:db8:0::0:1]",
        ] {
            #expect(find(table, host) == 2, "\(host)")
        }
        for host in [
            "example.com", "xapi.example.com", "api.example.com.evil", "api.example.com..",
            "[2001:db8::2]", "10.0.0.10", "a.10.0.0.1",
        ] {
            #expect(find(table, host) == nil, "\(host)")
        }
        #expect(find(table, nil) == nil)
        #expect(find(table, String(repeating: "a", count: 300)) == nil)
    }

    @Test("the most specific host decides, at any depth")
    func specificity() {
        let table = RouteTable([
            route(.prefix("/")), route(.prefix("/"), hosts: ["*.example.com"]),
            route(.prefix("/"), hosts: ["*.api.example.com", "b.org"]),
            route(.prefix("/"), hosts: ["x.api.example.com"]),
        ])
        #expect(table.problems.isEmpty)
        #expect(find(table, "a.example.com") == 1)
        #expect(find(table, "a.b.example.com") == 1)
        #expect(find(table, "api.example.com") == 1)
        #expect(find(table, "y.api.example.com") == 2)
        #expect(find(table, "x.api.example.com") == 3)
        #expect(find(table, "y.x.api.example.com") == 2)
        #expect(find(table, "b.org") == 2)
        for host in ["example.com", "a.b.org", "notexample.com", ".example.com."] {
            #expect(find(table, host) == 0, "\(host)")
        }
        #expect(find(table, nil) == 0)
    }

    @Test("the path decides before the host, and each alone")
    func order() {
        let table = RouteTable([
            route(.prefix("/")), route(.exact("/health")),
            route(.prefix("/"), hosts: ["a.org"]), route(.prefix("/api/"), hosts: ["a.org"]),
            route(.exact("/api/x"), ["POST"], hosts: ["a.org"]),
            route(.exact("/only"), ["POST"], hosts: ["a.org"]), route(.exact("/only"), ["GET"]),
        ])
        #expect(find(table, "a.org", "/health") == 1)
        #expect(find(table, "a.org", "/else") == 2)
        #expect(find(table, "a.org", "/api/y") == 3)
        #expect(find(table, "a.org", "/api/x") == nil)
        #expect(find(table, "b.org", "/api/x") == 0)
        #expect(find(table, "b.org", "/only") == 6)
        #expect(find(table, "a.org", "/only") == nil)
        #expect(table.find(Request("HEAD", "/only", host: "b.org")) == 6)
    }

    @Test("no slash leads from one host's route to a weaker one of all hosts")
    func slash() {
        let table = RouteTable([
            route(.exact("/x"), [], .off, hosts: ["a.org"]), route(.prefix("/x/"), [], .enforce),
        ])
        #expect(find(table, "a.org", "/x/") == 1)
        #expect(find(table, "a.org", "/x") == 0)
        #expect(find(table, "b.org", "/x") == 1)
    }

    @Test(
        "refuses what no client sends as a host",
        arguments: [
            ("", .empty), ("a:80", .hasPort), ("[::1]:80", .hasPort), ("http://a", .isURL),
            ("a/b", .isURL), ("bücher.de", .notASCII), ("a..b", .badLabel), (".a", .badLabel),
            ("a b", .badLabel), ("*.", .badLabel), ("*", .badWildcard), ("a.*", .badWildcard),
            ("*.*.a", .badWildcard), ("[::g]", .badAddress), ("[1:2]", .badAddress),
            ("[::1", .badAddress), ("::1", .bareAddress),
            ("2001:db8::1", .bareAddress), ("::1:", .hasPort), ("1:2", .hasPort),
            (String(repeating: "a.", count: 128), .tooLong),
            (String(repeating: "a", count: 64), .badLabel),
        ] as [(String, HostPattern.Fault)])
    func faults(text: String, fault: HostPattern.Fault) {
        #expect(throws: fault) { try HostPattern(text) }
    }
}

@Suite("Matching headers")
struct HeaderMatchTests {}

extension HeaderMatchTests {
    @Test("a value, presence and absence")
    func tests() {
        let table = RouteTable([
            route(.prefix("/"), headers: [.equals("x-version", "2")]),
            route(.prefix("/"), headers: [.present("x-debug"), .absent("x-version")]),
            route(.prefix("/")),
        ])
        #expect(table.problems.isEmpty)
        func find(_ lines: String...) -> Int? {
            table.find(Request("GET", "/", host: "a", lines: lines))
        }
        #expect(find("X-Version: 2") == 0)
        #expect(find("x-VERSION:  2 ") == 0)
        #expect(find("X-Version: 2", "X-Debug:") == 0)
        #expect(find("X-Version: 22") == 2)
        #expect(find("X-Version: 2", "X-Version: 2") == 2)
        #expect(find("X-Version: 1", "X-Version: 2") == 2)
        #expect(find("X-Debug: x", "X-Debug: y") == 1)
        #expect(find("X-Debug: x", "X-Version: 1") == 2)
        #expect(find() == 2)
    }

    @Test("more conditions come first, and exact ones before others")
    func specificity() {
        let table = RouteTable([
            route(.prefix("/"), headers: [.present("a")]),
            route(.prefix("/"), headers: [.equals("a", "1")]),
            route(.prefix("/"), headers: [.present("a"), .present("b")]),
        ])
        #expect(table.problems.isEmpty)
        #expect(table.find(Request("GET", "/", lines: ["A: 1"])) == 1)
        #expect(table.find(Request("GET", "/", lines: ["A: 2"])) == 0)
        #expect(table.find(Request("GET", "/", lines: ["A: 1", "B: 1"])) == 2)
        #expect(table.find(Request("GET", "/", lines: ["B: 1"])) == nil)
    }

    @Test("a method that a route names leaves nothing to routes of every method")
    func methodFirst() {
        let table = RouteTable([
            route(.prefix("/"), ["POST"], headers: [.present("a")]), route(.prefix("/")),
        ])
        #expect(table.find(Request("POST", "/", lines: ["A: 1"])) == 0)
        #expect(table.find(Request("POST", "/")) == nil)
        #expect(table.find(Request("GET", "/")) == 1)
    }

    @Test("what strangers say about the client counts as not said")
    func forwarding() {
        let table = RouteTable([
            route(.prefix("/"), headers: [.equals("x-forwarded-proto", "http")]),
            route(.prefix("/")),
        ])
        let request = Request("GET", "/", lines: ["X-Forwarded-Proto: http"])
        #expect(table.find(request) == 1)
        #expect(table.find(request, isTrusted: true) == 0)
    }

    @Test("reports what can never match, and what a request could take either way")
    func problems() {
        func problems(_ routes: Route...) -> [RouteProblem] { RouteTable(routes).problems }
        let slash = PathPattern.prefix("/")
        #expect(
            problems(
                route(slash, headers: [.present("a")]), route(slash, headers: [.present("a")]))
                == [RouteProblem(routeIndex: 1, kind: .neverMatches(earlier: 0))])
        #expect(
            problems(
                route(slash, headers: [.present("a")]), route(slash, headers: [.present("b")]))
                == [RouteProblem(routeIndex: 1, kind: .undecided(earlier: 0))])
        #expect(
            problems(
                route(slash, headers: [.equals("a", "1")]),
                route(slash, headers: [.equals("a", "2")])
            ).isEmpty)
        #expect(
            problems(
                route(slash, headers: [.present("a")]), route(slash),
                route(slash, headers: [.absent("a")]))
                == [RouteProblem(routeIndex: 1, kind: .shadowed(by: 0))])
        #expect(
            problems(
                route(slash, hosts: ["a.org", "b.org"]), route(slash, hosts: ["c.org", "b.org"]))
                == [RouteProblem(routeIndex: 1, kind: .neverMatches(earlier: 0))])
        #expect(problems(route(slash, hosts: ["a.org"]), route(slash, hosts: ["*.org"])).isEmpty)
        let many = (0...64).map { route(slash, headers: [.equals("a", "\($0)")]) }
        #expect(
            RouteTable(many).problems
                == [RouteProblem(routeIndex: 64, kind: .tooManyConditions)])
    }
}

@Suite("A weaker route")
struct RouteWeaknessTests {}

extension RouteWeaknessTests {
    private func problems(_ routes: [Route], groups: [Int] = [0, 1]) -> [RouteProblem] {
        let table = RouteTable(routes)
        #expect(table.problems.isEmpty)
        return RouteWeakness.problems(in: routes, table: table, upstreamGroups: groups)
    }

    private func weaker(_ index: Int, than strict: Int, _ path: String) -> [RouteProblem] {
        [RouteProblem(routeIndex: index, kind: .weaker(than: strict, path: path))]
    }

    @Test("is one that passes what a store failed to judge")
    func storeFailure() {
        let strict = route(.exact("/t"), [], .enforce, hosts: ["a.org"])
        var passing = route(.prefix("/"), [], .enforce)
        #expect(problems([strict, passing]).isEmpty)
        passing.attest.onStoreFailure = .pass
        #expect(problems([strict, passing]) == weaker(1, than: 0, "/t"))
    }

    @Test("is found behind another host")
    func hosts() {
        let strict = route(.exact("/t"), ["POST"], .enforce, hosts: ["a.org"])
        let rest = route(.prefix("/"))
        #expect(problems([strict, rest]) == weaker(1, than: 0, "/t"))
        var permitted = rest
        permitted.allowsWeaker = true
        #expect(problems([strict, permitted]).isEmpty)
        var elsewhere = rest
        elsewhere.upstream = 1
        #expect(problems([strict, elsewhere]).isEmpty)
        #expect(problems([strict, elsewhere], groups: [0, 0]) == weaker(1, than: 0, "/t"))
        // With the same hosts a request has no other way.
        #expect(problems([strict, route(.prefix("/"), hosts: ["a.org"])]).isEmpty)
        #expect(problems([strict, route(.prefix("/"), upstream: nil)]).isEmpty)
        #expect(
            problems([strict, rest, route(.exact("/t"), [], .enforce)]).isEmpty)
        // A wider host's routes are weaker for some of its hosts.
        #expect(
            problems([strict, route(.prefix("/"), hosts: ["*.org"])]) == weaker(1, than: 0, "/t"))
        let other = route(.prefix("/t/"), [], .observe, hosts: ["b.org"])
        #expect(
            problems([route(.prefix("/t/"), [], .enforce, hosts: ["a.org"]), other])
                == weaker(1, than: 0, "/t"))
    }

    @Test("is found behind a header")
    func headers() {
        let strict = route(.prefix("/t/"), [], .enforce)
        let debug = route(.prefix("/t/"), [], .off, headers: [.present("x-debug")])
        #expect(problems([strict, debug]) == weaker(1, than: 0, "/t"))
        let half = route(.prefix("/t/"), [], .enforce, rollout: 50, headers: [.present("x-a")])
        #expect(problems([strict, half]) == weaker(1, than: 0, "/t"))
        #expect(
            problems([
                strict, route(.prefix("/t/"), [], .enforce, headers: [.equals("v", "2")]),
                route(.prefix("/")),
            ]).isEmpty)
        #expect(
            problems([
                route(.exact("/t"), ["POST"], .enforce, headers: [.present("x-a")]),
                route(.exact("/t"), ["GET"]),
            ]).isEmpty)
    }

    @Test("is found behind a path that is rewritten")
    func rewriting() {
        let strict = route(.prefix("/api/"), [], .enforce)
        var open = route(.prefix("/open/"))
        open.rewrite = .prefix("/")
        #expect(problems([strict, open]) == weaker(1, than: 0, "/api"))
        open.rewrite = .prefix("/public/")
        #expect(problems([strict, open]).isEmpty)
        open.rewrite = .prefix("/api/public/")
        #expect(problems([strict, open]) == weaker(1, than: 0, "/api/public"))
        var versioned = route(.prefix("/v1/"), [], .enforce)
        versioned.rewrite = .prefix("/api/")
        #expect(problems([versioned, route(.prefix("/"))]) == weaker(1, than: 0, "/api"))
        #expect(problems([versioned, strict, route(.prefix("/"))]).isEmpty)
        var exact = route(.exact("/login"))
        exact.rewrite = .path("/api/login")
        #expect(problems([strict, exact]) == weaker(1, than: 0, "/api/login"))
    }

    @Test("is not looked for where nothing is demanded")
    func open() {
        #expect(problems([route(.prefix("/"), hosts: ["a.org"]), route(.prefix("/"))]).isEmpty)
    }
}

@Suite("The explanation of a match")
struct RouteExplanationTests {}

extension RouteExplanationTests {
    private static let routes: [Route] = [
        route(.prefix("/")), route(.prefix("/"), hosts: ["a.org"]),
        route(.prefix("/x/"), [], .enforce), route(.exact("/x")),
        route(.exact("/x"), ["POST"], .enforce, hosts: ["*.org"]),
        route(.exact("/x/y"), ["GET"], headers: [.present("a")]),
        route(.exact("/x/y"), ["GET"], headers: [.equals("a", "1"), .absent("b")]),
        route(.exact("/x/y"), ["POST"]), route(.exact("/x/y")),
        route(.exact("/z/"), ["HEAD"]), route(.exact("/z/"), ["GET"], hosts: ["c.a.org"]),
        route(.prefix("/z/"), [], .observe, hosts: ["*.a.org"], headers: [.absent("b")]),
    ]

    @Test("names the same route as the table, whatever the request")
    func sameAsTable() {
        let table = RouteTable(Self.routes)
        #expect(table.problems.isEmpty)
        let paths = ["/", "/x", "/x/", "/x/y", "/x/y/", "/x/y/z", "/z", "/z/", "/z/a", "/w"]
        let hosts = ["a.org", "c.a.org", "d.a.org", "b.org", "x.com"]
        let lines = [[], ["A: 1"], ["A: 2"], ["A: 1", "B: 2"], ["B:"], ["A: 1", "a: 1"]]
        var takenCounts = [Int](repeating: 0, count: Self.routes.count)
        for path in paths {
            for host in hosts {
                for method in ["GET", "HEAD", "POST", "PUT"] {
                    for lines in lines {
                        let request = Request(method, path, host: host, lines: lines)
                        let taken = explain(request).enumerated()
                            .filter { $0.element == .taken }.map(\.offset)
                        let found = table.find(request)
                        #expect(taken == (found.map { [$0] } ?? []), "\(method) \(host)\(path)")
                        if let found { takenCounts[found] += 1 }
                    }
                }
            }
        }
        #expect(!takenCounts.contains(0))
    }

    private func explain(_ request: Request) -> [RouteExplanation.Verdict] {
        let bytes = request.bytes.span
        return RouteExplanation(
            routes: Self.routes, method: request.method, path: Array(request.path.utf8),
            authority: bytes.extracting(request.head.host ?? .empty), fields: request.head.fields,
            bytes: bytes, trustsForwarding: false
        ).verdicts
    }

    @Test("says why each other route was not taken")
    func verdicts() {
        #expect(
            explain(Request("GET", "/x/y", host: "b.org", lines: ["A: 2"])) == [
                .lessSpecificPath, .otherHost, .lessSpecificPath, .otherPath, .otherPath, .taken,
                .header(.equals("a", "1")), .otherMethod, .methodNamedElsewhere, .otherPath,
                .otherPath, .otherPath,
            ])
        #expect(explain(Request("POST", "/x", host: "b.org"))[3] == .lessSpecificHost)
        #expect(explain(Request("PUT", "/x/", host: "c.com"))[3] == .lessStrict)
    }
}
