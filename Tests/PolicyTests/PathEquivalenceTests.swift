import HTTP
import Policy
import Testing

@Suite("Paths as upstreams read them")
struct PathEquivalenceTests {}

extension PathEquivalenceTests {
    private static func equivalence(
        case ignoresCase: Bool = false, suffixes: Bool = false, twice: Bool = false
    ) -> PathEquivalence {
        var equivalence = PathEquivalence()
        equivalence.ignoresCase = ignoresCase
        equivalence.ignoresSuffixes = suffixes
        equivalence.decodesTwice = twice
        return equivalence
    }

    private static let all = equivalence(case: true, suffixes: true, twice: true)

    private func read(_ path: String, _ equivalence: PathEquivalence) -> String? {
        let read = try? equivalence.representative(of: Array(path.utf8))
        return read.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("one spelling stands for all that the upstream takes for the same")
    func representatives() {
        let folding = Self.equivalence(case: true)
        for (path, folded) in [
            ("/API/Transfer", "/api/transfer"), ("/a%C3%89", "/aé"), ("/a%C3%A9", "/aé"),
            ("/%E2%84%AA", "/k"), ("/%C5%BF", "/s"), ("/A%FF", "/a"), ("/a%20B", "/a%20b"),
        ] {
            let read = read(path, folding)
            #expect(path == "/A%FF" ? read?.hasPrefix(folded) == true : read == folded, "\(path)")
        }
        let short = Self.equivalence(suffixes: true)
        for spelled in ["", ".json", ".", "..", ".tar.gz", "%20", "%20%20.", ".%20", ";a=b", ";.x"]
        {
            #expect(read("/a.b/x\(spelled)", short) == "/a.b/x", "\(spelled)")
            #expect(read("/a.b/x\(spelled)/", short) == "/a.b/x/", "\(spelled)")
        }
        #expect(read("/a./b%20/c;d/x", short) == "/a/b/c/x")
        #expect(read("/.env.bak", short) == "/.env")
        #expect(read("/", short) == "/")
        let decoding = Self.equivalence(twice: true)
        #expect(read("/api/%2574ransfer", decoding) == "/api/transfer")
        #expect(read("/a%252b%25C3%25A9", decoding) == "/a+%C3%A9")
        #expect(read("/100%25", decoding) == "/100%25")
        #expect(read("/%252574", decoding) == "/%2574")
        #expect(read("/%2541.X", Self.all) == "/a")
    }

    @Test("what a second decoding would make a disputed spelling is refused")
    func disputed() {
        let decoding = Self.equivalence(twice: true)
        for path in ["/a%252Fb", "/a%255Cb", "/%252e%252e/b", "/a%253Bb", "/a%2500", "/a/%252e"] {
            #expect(read(path, decoding) == nil, "\(path)")
            #expect(read(path, Self.equivalence(case: true)) != nil, "\(path)")
        }
    }

    @Test("a segment of periods and spaces alone is refused, for what is stripped of it")
    func nothingButSuffixes() {
        let short = Self.equivalence(suffixes: true)
        let both = Self.equivalence(suffixes: true, twice: true)
        for hidden in ["..%20", ".%20", "...", "%20", "%20..", "..%09.", "..json", "..%20;a=b"] {
            for path in ["/\(hidden)", "/\(hidden)/x", "/a/\(hidden)/x", "/a/\(hidden)/"]
            where hidden != "..json" || path.hasSuffix(hidden) {
                #expect(read(path, short) == nil, "\(path)")
                #expect(read(path, .exact) == path)
            }
        }
        #expect(read("/a/..%2520/x", both) == nil && read("/a/..%2520/x", short) != nil)
        #expect(read("/;a=b/x", short) == "/;a=b/x" && read("/.a/..b/c", short) == "/.a/..b/c")
        let reading = table(
            short,
            [route(.prefix("/api/"), [], .enforce), route(.prefix("/pub/")), route(.prefix("/"))])
        for target in ["/pub/..%20/api/transfer", "/.%20/api/transfer", "/.../api/transfer"] {
            #expect(find(reading, target) == .refused(.dotSegment), "\(target)")
        }
        #expect(
            table(short, [route(.prefix("/.../"))]).problems
                == [RouteProblem(routeIndex: 0, kind: .pathInvalid(.dotSegment))])
    }

    // MARK: routes

    private func table(_ equivalence: PathEquivalence, _ routes: [Route]) -> RouteTable {
        RouteTable(
            routes.map { route in
                var route = route
                if route.upstream == 0 { route.pathEquivalence = equivalence }
                return route
            })
    }

    private func find(
        _ table: RouteTable, _ target: String, allowing: TargetAllowances = []
    ) -> TargetMatch {
        var scratch: [UInt8] = []
        let (method, bytes) = (Array("GET".utf8), Array(target.utf8))
        return table.match(
            method: method.span, target: bytes.span, allowing: allowing, scratch: &scratch)
    }

    private static let spellings = [
        "/API/transfer", "/api/Transfer", "/api/transfer.json", "/api/transfer.",
        "/api/transfer%20", "/api/%2574ransfer", "/api/transfer/", "/Api./%2554RANSFER.x.y",
        "/%2561pi/transfer",
    ]

    @Test("a spelling that the upstream reads alike takes the same route")
    func alike() {
        let routes = [route(.exact("/api/transfer"), [], .enforce), route(.prefix("/"))]
        let reading = table(Self.all, routes)
        for target in Self.spellings { #expect(find(reading, target) == .route(0), "\(target)") }
        #expect(find(reading, "/api/transfers") == .route(1))
        #expect(find(reading, "/api/%252e%252e/transfer") == .refused(.dotSegment))
        // Parameters are refused on an attested route, and lead there where they are allowed.
        #expect(find(reading, "/API/transfer;x") == .refused(.pathParameters))
        #expect(find(reading, "/API/transfer;x", allowing: .pathParameters) == .route(0))
        // As it is where nobody says how the upstream reads.
        let literal = table(.exact, routes)
        for target in Self.spellings where target != "/api/transfer/" {
            #expect(find(literal, target) == .route(1), "\(target)")
        }
        // Patterns are read likewise, and only a spelling that has a route is let in.
        let shouting = table(Self.all, [route(.exact("/API/Transfer.JSON"), [], .enforce)])
        for target in Self.spellings { #expect(find(shouting, target) == .route(0), "\(target)") }
        #expect(find(shouting, "/api") == .none)
    }

    @Test("random spellings of random paths take one route")
    func random() {
        var state: UInt64 = 0x5A11_0014
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let patterns: [PathPattern] = [
            .exact("/a"), .exact("/a/b"), .prefix("/a/"), .prefix("/a/b/"), .exact("/B/c.x"),
            .prefix("/b/"), .prefix("/"),
        ]
        func respelled(_ path: String) -> String {
            path.split(separator: "/", omittingEmptySubsequences: false).map { segment in
                var text = ""
                for letter in segment.unicodeScalars {
                    switch random(4) {
                    case 0: text += String(letter).uppercased()
                    case 1: text += "%25" + String(letter.value, radix: 16)
                    default: text.unicodeScalars.append(letter)
                    }
                }
                return segment.isEmpty ? text : text + ["", ".", "%20", ".%2520"][random(4)]
            }
            .joined(separator: "/")
        }
        var takenCount = 0
        for _ in 0..<300 {
            let routes = (0..<2 + random(4)).map { _ in
                route(patterns[random(patterns.count)], [], random(2) == 0 ? .enforce : .off)
            }
            let reading = table(Self.all, routes)
            guard reading.problems.isEmpty else { continue }
            for path in ["/a", "/a/b", "/a/b/c", "/b", "/b/c", "/x/a"] {
                let match = find(reading, path)
                if case .route = match { takenCount += 1 }
                for _ in 0..<4 {
                    let other = respelled(path) + (random(3) == 0 ? ".json" : "")
                    #expect(find(reading, other) == match, "\(other) and \(path) of \(routes)")
                }
            }
        }
        #expect(takenCount > 300)
    }

    @Test("upstreams that read differently each get what their own reading leads to")
    func severalUpstreams() {
        let routes = [
            route(.prefix("/a/"), [], .enforce, upstream: 0), route(.prefix("/"), upstream: 1),
            route(.prefix("/B/"), [], .enforce, upstream: 1),
        ]
        let reading = table(Self.all, routes)
        #expect(reading.problems.isEmpty)
        #expect(find(reading, "/a/x") == .route(0))
        // The literal reading comes first: upstream 1 knows no /A/x but its own.
        #expect(find(reading, "/A/x") == .route(1))
        #expect(find(reading, "/B/x") == .route(2) && find(reading, "/b/x") == .route(1))
        // Where no reading leads to an upstream that reads so, nobody can tell.
        let crossed = table(
            Self.all,
            [route(.prefix("/A/"), upstream: 0), route(.exact("/a/x"), [], .enforce, upstream: 1)])
        #expect(find(crossed, "/A/x") == .refused(.pathAmbiguous))
        #expect(find(crossed, "/A/y") == .route(0) && find(crossed, "/a/x") == .route(1))
        // What the gateway answers itself fits every reading.
        var answering = route(.exact("/stop"), upstream: nil)
        answering.answer = .respond(FixedResponse(status: 410, body: "", contentType: "text/plain"))
        let stopping = table(Self.all, [answering, route(.prefix("/"))])
        #expect(find(stopping, "/STOP.x") == .route(0) && find(stopping, "/go") == .route(1))
    }

    @Test("of a prefix with a period in its name the stricter of two readings counts")
    func names() {
        let routes = [
            route(.prefix("/v1.2/"), [], .enforce), route(.exact("/v1")), route(.prefix("/")),
        ]
        let reading = table(Self.all, routes)
        #expect(find(reading, "/v1.2") == .route(0) && find(reading, "/v1.2/") == .route(0))
        #expect(find(reading, "/v1") == .route(1) && find(reading, "/v1.3") == .route(1))
        let other = table(
            Self.all, [route(.prefix("/v1.2/")), route(.exact("/v1"), [], .enforce)])
        #expect(find(other, "/v1.2") == .route(1) && find(other, "/v1.2/x") == .route(0))
    }

    @Test("an ending behind a name with periods leads nowhere else than the name")
    func endingsOfNames() {
        let open = [route(.prefix("/v1.2/"), [], .enforce), route(.prefix("/"))]
        let reading = table(Self.all, open)
        for ending in ["", ".json", ".", "..json", ".tar.gz", "%20.json", ".%2520.x"] {
            for slash in ["", "/"] {
                let target = "/V1.2\(ending)\(slash)"
                #expect(find(reading, target) == .route(0), "\(target)")
            }
        }
        #expect(find(reading, "/v1.2.json//", allowing: .emptySegments) == .route(0))
        for target in ["/v1.20.json", "/v1.json", "/v1.2.json/x", "/v1.2%20x"] {
            #expect(find(reading, target) == .route(1), "\(target)")
        }
        // Of several names each counts.
        let nested = table(
            Self.all,
            [
                route(.prefix("/v1.2/")), route(.prefix("/v1.2.3/"), [], .enforce),
                route(.prefix("/v1.2.3.4/")), route(.prefix("/"), [], .observe),
            ])
        #expect(find(nested, "/v1.2.json") == .route(3))
        for target in ["/v1.2.3", "/v1.2.3.4", "/v1.2.3.4.json"] {
            #expect(find(nested, target) == .route(1), "\(target)")
        }
        #expect(nested.problems.isEmpty)
    }

    @Test("a path that a pattern covers takes no other reading's route")
    func covered() {
        let routes = [
            route(.exact("/pay"), ["POST"], .enforce), route(.prefix("/pay.v2/")),
            route(.prefix("/old.v1/"), ["POST"], .enforce), route(.prefix("/")),
            route(.exact("/info"), headers: [.present("x-a")]), route(.prefix("/info.v2/")),
        ]
        let reading = table(Self.all, routes)
        for target in ["/pay", "/pay.v2", "/pay.x", "/info", "/info.v2"] {
            #expect(find(reading, target) == .none, "\(target)")
        }
        #expect(find(reading, "/pay.v2/x") == .route(1) && find(reading, "/pays") == .route(3))
        // Nor does the name's own prefix leave what it does not take to a shorter one.
        #expect(find(reading, "/old.v1") == .none && find(reading, "/old.v1.x") == .none)
        #expect(find(reading, "/old.v2") == .route(3))
    }

    @Test("no random ending leads around a prefix whose name has periods")
    func randomEndings() {
        var state: UInt64 = 0x5A11_0033
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let names = ["/a.b", "/a.b.c", "/a", "/d/a.b", "/.x.y", "/d"]
        let pieces = [".json", ".", "%20", ".b", ".c", ".%2520"]
        for _ in 0..<300 {
            let guarded = names[random(names.count)]
            var routes = [route(.prefix(guarded + "/"), [], .enforce), route(.prefix("/"))]
            for name in names where name != guarded && random(2) == 0 {
                routes.append(route(.prefix(name + "/")))
            }
            let reading = table(Self.all, routes)
            #expect(reading.problems.isEmpty)
            for _ in 0..<4 {
                let ending = (0..<random(4)).map { _ in pieces[random(pieces.count)] }.joined()
                let target = guarded + (ending.hasPrefix("%") ? ".x" : "") + ending
                #expect(find(reading, target) == .route(0), "\(target) of \(routes.map(\.path))")
            }
        }
    }

    @Test("two patterns that the upstream reads alike are one, and a rewritten path is read too")
    func problems() {
        for (first, second) in [("/a", "/A"), ("/a.x", "/a"), ("/a", "/%2561")] {
            let twins = table(
                Self.all, [route(.exact(first)), route(.exact(second), [], .enforce)])
            #expect(
                twins.problems == [RouteProblem(routeIndex: 1, kind: .neverMatches(earlier: 0))],
                "\(first) \(second)")
        }
        for equivalence in [PathEquivalence.exact, Self.all] {
            var rewriting = route(.prefix("/v2/"))
            rewriting.rewrite = .prefix("/API/")
            rewriting.pathEquivalence = equivalence
            var strict = route(.exact("/api/pay"), [], .enforce)
            strict.pathEquivalence = equivalence
            let table = RouteTable([rewriting, strict])
            let found = RouteWeakness.problems(
                in: [rewriting, strict], table: table, upstreamGroups: [0])
            #expect(found.isEmpty == (equivalence == .exact))
        }
    }

    @Test("the explanation names the route that is taken")
    func explanation() {
        let routes = [
            route(.exact("/api/transfer"), [], .enforce), route(.prefix("/api/"), [], .observe),
            route(.prefix("/"), upstream: 1),
        ].map { route in
            var route = route
            if route.upstream == 0 { route.pathEquivalence = Self.all }
            return route
        }
        let table = RouteTable(routes)
        for target in ["/api/transfer", "/api/Transfer.x", "/api/x", "/API/x", "/x"] {
            let request = Request("GET", target)
            let explanation = RouteExplanation(
                routes: routes, method: "GET", path: Array(target.utf8),
                authority: request.bytes.span.extracting(.empty),
                fields: request.head.fields, bytes: request.bytes.span, trustsForwarding: false)
            let taken = explanation.verdicts.firstIndex(of: .taken)
            #expect(taken.map(TargetMatch.route) == find(table, target), "\(target)")
        }
    }

    // MARK: gaps

    private func gaps(
        _ routes: [Route], known: Set<PathSpelling> = [], _ equivalence: PathEquivalence = .exact
    ) -> [RouteSpellings.Gap] {
        let routes = routes.map { route in
            var route = route
            route.pathEquivalence = equivalence
            return route
        }
        return RouteSpellings.gaps(
            in: routes, table: RouteTable(routes), upstreamGroups: [0, 1], known: [known, known])
    }

    @Test("a path that is guarded by its spelling alone is found, with what goes around it")
    func guardedBySpelling() {
        let exact = route(.exact("/api/transfer"), ["POST"], .enforce)
        let open = route(.prefix("/"))
        #expect(
            gaps([exact, open]) == [
                RouteSpellings.Gap(
                    route: 0, weaker: 1,
                    paths: ["/api/TRANSFER", "/api/transfer.json", "/api/%2574ransfer"])
            ])
        #expect(
            gaps([exact, open], known: [.suffix]).map(\.paths)
                == [["/api/TRANSFER", "/api/%2574ransfer"]])
        #expect(gaps([exact, open], known: Set(PathSpelling.allCases)).isEmpty)
        #expect(gaps([exact, open], Self.all).isEmpty)
        let prefix = route(.prefix("/api/"), [], .enforce)
        #expect(
            gaps([prefix, open]).map(\.paths) == [["/API/...", "/api./...", "/%2561pi/..."]])
        // What is closed around, or open inside, has none.
        #expect(gaps([prefix]).isEmpty)
        #expect(gaps([route(.prefix("/"), [], .enforce), route(.exact("/health"))]).isEmpty)
        #expect(gaps([exact, route(.prefix("/"), [], .enforce)]).isEmpty)
        #expect(gaps([route(.exact("/a"), [], .enforce), route(.prefix("/"), ["PUT"])]).count == 1)
        #expect(gaps([exact, route(.prefix("/"), upstream: 1)]).isEmpty)
        #expect(gaps([exact, route(.prefix("/"), ["GET"])]).isEmpty)
        #expect(gaps([exact, route(.prefix("/"), allowsWeaker: true)]).isEmpty)
        #expect(gaps([route(.exact("/a"), [], .observe), open]).isEmpty)
        #expect(
            gaps([route(.exact("/a"), [], .enforce), route(.prefix("/"), [], .enforce, rollout: 5)])
                .count == 1)
    }
}
