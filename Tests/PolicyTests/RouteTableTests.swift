import Bytes
import HTTP
import Policy
import Testing

extension RouteTable {
    fileprivate func find(_ method: String, _ path: String) -> Int? {
        let methodBytes = Array(method.utf8)
        let pathBytes = Array(path.utf8)
        guard case .route(let index) = match(method: methodBytes.span, path: pathBytes.span)
        else { return nil }
        return index
    }

    fileprivate func find(
        _ method: String, target: String, allowing: TargetAllowances = []
    ) -> TargetMatch {
        var scratch: [UInt8] = []
        let methodBytes = Array(method.utf8)
        let targetBytes = Array(target.utf8)
        return match(
            method: methodBytes.span, target: targetBytes.span, allowing: allowing,
            scratch: &scratch)
    }
}

@Suite("A route table")
struct RouteTableTests {}

extension RouteTableTests {
    @Test("takes the most specific pattern: exact, then the longest prefix")
    func specificity() {
        let table = RouteTable([
            route(.prefix("/")), route(.prefix("/a/")), route(.prefix("/a/b/")),
            route(.exact("/a/b/c")), route(.exact("/")),
        ])
        #expect(table.problems.isEmpty)
        #expect(table.find("GET", "/") == 4)
        #expect(table.find("GET", "/x") == 0)
        #expect(table.find("GET", "/a") == 1)
        #expect(table.find("GET", "/a/") == 1)
        #expect(table.find("GET", "/a/bb") == 1)
        #expect(table.find("GET", "/ab") == 0)
        #expect(table.find("GET", "/a/b") == 2)
        #expect(table.find("GET", "/a/b/") == 2)
        #expect(table.find("GET", "/a/b/c") == 3)
        #expect(table.find("GET", "/a/b/c/") == 3)
        #expect(table.find("GET", "/a/b/c/d") == 2)
        #expect(table.find("GET", "/A/b/c") == 0)
    }

    @Test("lets an exact pattern cover one slash more or less, not two")
    func trailingSlash() {
        let table = RouteTable([route(.exact("/x")), route(.exact("/y/"))])
        #expect(table.find("GET", "/x") == 0 && table.find("GET", "/x/") == 0)
        #expect(table.find("GET", "/y/") == 1 && table.find("GET", "/y") == 1)
        #expect(table.find("GET", "/x//") == nil && table.find("GET", "/y//") == nil)
        #expect(table.find("GET", "/xx") == nil && table.find("GET", "/") == nil)
        let both = RouteTable([route(.exact("/x")), route(.exact("/x/"))])
        #expect(both.find("GET", "/x") == 0 && both.find("GET", "/x/") == 1)
    }

    @Test("never weakens a route by a trailing slash")
    func trailingSlashDemand() {
        let strictExact = RouteTable([
            route(.exact("/x"), [], .enforce), route(.prefix("/x/"), [], .off),
        ])
        #expect(strictExact.find("GET", "/x") == 0)
        #expect(strictExact.find("GET", "/x/") == 0)
        #expect(strictExact.find("GET", "/x/y") == 1)
        let strictPrefix = RouteTable([
            route(.exact("/x"), [], .off), route(.prefix("/x/"), [], .enforce),
        ])
        #expect(strictPrefix.find("GET", "/x") == 0)
        #expect(strictPrefix.find("GET", "/x/") == 1)
        let slashed = RouteTable([
            route(.exact("/x/"), [], .observe), route(.prefix("/x/"), [], .enforce, rollout: 10),
        ])
        #expect(slashed.find("GET", "/x/") == 0)
        #expect(slashed.find("GET", "/x") == 1)
        let equal = RouteTable([route(.prefix("/x/")), route(.exact("/x"))])
        #expect(equal.find("GET", "/x/") == 1)
        let other = RouteTable([route(.exact("/x"), ["POST"]), route(.prefix("/x/"))])
        #expect(other.find("GET", "/x/") == nil)
        #expect(other.find("POST", "/x/") == 0)
    }

    @Test("chooses by method within the pattern, and never falls through to a weaker one")
    func methods() {
        let table = RouteTable([
            route(.prefix("/")), route(.exact("/a"), ["POST"], .enforce),
            route(.exact("/a"), ["GET"]), route(.exact("/b"), ["HEAD"]),
            route(.exact("/b"), ["GET"]), route(.exact("/c"), ["PUT"]), route(.exact("/c")),
        ])
        #expect(table.problems.isEmpty)
        #expect(table.find("POST", "/a") == 1 && table.find("GET", "/a") == 2)
        #expect(table.find("HEAD", "/a") == 2 && table.find("HEAD", "/a/") == 2)
        #expect(table.find("DELETE", "/a") == nil && table.find("post", "/a") == nil)
        #expect(table.find("HEAD", "/b") == 3 && table.find("GET", "/b") == 4)
        #expect(table.find("PUT", "/c") == 5 && table.find("HEAD", "/c") == 6)
        #expect(table.find("ANYTHING-ELSE", "/c") == 6 && table.find("", "/a") == nil)
    }

    @Test("matches nothing for what is no path")
    func noPath() {
        let table = RouteTable([route(.prefix("/"))])
        #expect(table.find("OPTIONS", "*") == nil && table.find("GET", "") == nil)
        #expect(RouteTable([]).find("GET", "/") == nil)
    }

    @Test("matches patterns by their normal form")
    func patternSpelling() {
        let table = RouteTable([route(.exact("/%61%40")), route(.prefix("/caf%c3%a9/"))])
        #expect(table.find("GET", "/a@") == 0)
        #expect(table.find("GET", "/caf%C3%A9/x") == 1)
    }

    @Test("reports routes that can never match, and then matches nothing")
    func problems() {
        let table = RouteTable([
            route(.exact("/a"), ["GET", "POST"]), route(.exact("/%61"), ["POST"]),
            route(.prefix("/a/")), route(.prefix("/a/")), route(.prefix("/b")),
            route(.exact("/c?d")), route(.exact("/d"), ["get"]), route(.exact("/e"), ["CONNECT"]),
            route(.exact("/a"), ["PUT"]), route(.prefix("")), route(.exact("/f;g")),
        ])
        #expect(
            table.problems == [
                RouteProblem(routeIndex: 1, kind: .neverMatches(earlier: 0)),
                RouteProblem(routeIndex: 3, kind: .neverMatches(earlier: 2)),
                RouteProblem(routeIndex: 4, kind: .prefixWithoutSlash),
                RouteProblem(routeIndex: 5, kind: .pathInvalid(.pathInvalid)),
                RouteProblem(routeIndex: 6, kind: .methodInvalid("get")),
                RouteProblem(routeIndex: 7, kind: .methodInvalid("CONNECT")),
                RouteProblem(routeIndex: 9, kind: .prefixWithoutSlash),
                RouteProblem(routeIndex: 10, kind: .pathInvalid(.pathParameters)),
            ])
        #expect(table.find("GET", "/a") == nil)
    }

    @Test("covers what the table finds, pattern by pattern")
    func covers() {
        let patterns: [PathPattern] = [
            .exact("/"), .exact("/x"), .exact("/x/"), .prefix("/"), .prefix("/x/"),
        ]
        for pattern in patterns {
            let table = RouteTable([route(pattern)])
            for path in ["/", "/x", "/x/", "/x/y", "/xy", "/y", "/x//"] {
                let bytes = Array(path.utf8)
                let isCovered = pattern.covers(bytes.span)
                #expect(isCovered == (table.find("GET", path) == 0), "\(pattern) \(path)")
            }
        }
    }

    @Test("finds the right one of a thousand")
    func many() {
        var routes: [Route] = []
        for index in 0..<500 {
            routes.append(route(.exact("/items/\(index)")))
            routes.append(route(.prefix("/trees/\(index)/")))
        }
        let table = RouteTable(routes)
        for index in 0..<500 {
            #expect(table.find("GET", "/items/\(index)") == index * 2)
            #expect(table.find("GET", "/trees/\(index)/a/b") == index * 2 + 1)
        }
        #expect(table.find("GET", "/items/500") == nil)
        #expect(table.find("GET", "/trees/500/a") == nil)
    }
}

@Suite("Matching a target")
struct TargetMatchTests {
    private let table = RouteTable([
        route(.exact("/api/transfer"), [], .enforce), route(.prefix("/public/")),
        route(.prefix("/")),
    ])
}

extension TargetMatchTests {
    @Test(
        "reaches the strict route by every spelling that is not refused",
        arguments: [
            "/api/transfer", "/api/transfer/", "/api/transfer?x=1", "/%61pi/transfer",
            "/api/tr%61nsfer", "/api/%74%72%61%6E%73%66%65%72/",
        ])
    func spellings(target: String) {
        #expect(table.find("POST", target: target) == .route(0))
    }

    @Test(
        "refuses the other spellings",
        arguments: [
            ("/api//transfer", .emptySegment), ("/./api/transfer", .dotSegment),
            ("/public/../api/transfer", .dotSegment), ("/api%2Ftransfer", .encodedSlash),
            ("/api\\transfer", .backslash), ("/api/transfer;x", .pathParameters),
            ("/api;x=1/transfer", .pathParameters), ("/api/transfer%3bx", .pathParameters),
            ("/public/..;/api/transfer", .dotSegment), ("/api/transfer%00", .encodedControl),
            ("/api/transfer%", .percentEncodingInvalid),
        ] as [(String, HTTPFault)])
    func refused(target: String, fault: HTTPFault) {
        #expect(table.find("POST", target: target) == .refused(fault))
    }

    @Test("lets parameters pass where no reading leads to an attested route")
    func parameters() {
        #expect(table.find("GET", target: "/other;x=1/y") == .route(2))
        #expect(table.find("GET", target: "/public/a;b") == .route(1))
        #expect(table.find("GET", target: "/public;x/a") == .route(1))
        let tree = RouteTable([
            route(.prefix("/api/"), [], .enforce), route(.prefix("/api/open/")),
            route(.prefix("/"), [], .observe), route(.prefix("/off/")),
        ])
        #expect(tree.find("GET", target: "/api/a;b") == .refused(.pathParameters))
        #expect(tree.find("GET", target: "/api/open;b/a") == .refused(.pathParameters))
        #expect(tree.find("GET", target: "/off;b/a") == .refused(.pathParameters))
        #expect(tree.find("GET", target: "/off/a;b") == .route(3))
    }

    @Test("takes the route that demands most of the readings of an allowed spelling")
    func readings() {
        func find(_ target: String, _ allowing: TargetAllowances, _ method: String = "GET")
            -> TargetMatch
        { table.find(method, target: target, allowing: allowing) }
        #expect(find("/api/transfer;x", .pathParameters) == .route(0))
        #expect(find("/api;b/transfer", .pathParameters) == .route(0))
        #expect(find("/a/../b", .dotSegments) == .route(2))
        #expect(find("/public/../api/transfer", .dotSegments) == .route(0))
        #expect(find("/api/transfer/../../public/x", .dotSegments) == .route(1))
        #expect(find("/a/../../public/x", .dotSegments) == .refused(.dotSegment))
        #expect(find("/public/a%2fb", .encodedSlash) == .route(1))
        #expect(find("/api%2ftransfer", .encodedSlash) == .route(0))
        #expect(find("/a%2fb/../../c", [.dotSegments, .encodedSlash]) == .refused(.dotSegment))
        #expect(find("//api//transfer", .emptySegments) == .route(0))
        #expect(find("/api\\transfer", .backslash) == .route(0))
        #expect(
            find("/x%2f..\\api/transfer", [.backslash, .encodedSlash, .dotSegments]) == .route(0))
        #expect(find("*", []) == .refused(.pathInvalid))
    }

    @Test("matches nothing, or refuses, where a reading has no route or another strict one")
    func incomparableReadings() {
        let table = RouteTable([
            route(.exact("/a"), ["POST"], .enforce), route(.exact("/b"), [], .enforce, rollout: 5),
            route(.prefix("/c/"), [], .enforce), route(.prefix("/")),
        ])
        let dots = TargetAllowances.dotSegments
        #expect(table.find("GET", target: "/x/../a", allowing: dots) == .none)
        #expect(table.find("POST", target: "/x/../a", allowing: dots) == .route(0))
        #expect(table.find("GET", target: "/c/../b", allowing: dots) == .refused(.pathAmbiguous))
        #expect(table.find("GET", target: "/c/../c/d", allowing: dots) == .route(2))
        #expect(table.find("GET", target: "/a/../d", allowing: dots) == .route(3))
    }

    @Test("never lets a random spelling of the strict path reach another route")
    func random() {
        var state: UInt64 = 7
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let allowances: TargetAllowances = [
            .dotSegments, .emptySegments, .encodedSlash, .backslash, .pathParameters,
        ]
        let digits = Array("0123456789abcdefABCDEF".utf8)
        func hex(_ byte: UInt8) -> String {
            let text = "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
            return random(2) == 0 ? text : text.uppercased()
        }
        #expect(digits.count == 22)
        let slashes = ["/", "/", "/", "//", "/./", "/x/../", "/;a/", "%2f", "\\", "%5C", ";p/"]
        for _ in 0..<5000 {
            var target = ""
            for segment in ["api", "transfer"] {
                target += target.isEmpty ? "/" : slashes[random(slashes.count)]
                for byte in segment.utf8 {
                    target += random(4) == 0 ? hex(byte) : String(UnicodeScalar(byte))
                }
            }
            if random(4) == 0 { target += ["/", ";x", "/.", "%2F", "\\"][random(5)] }
            for allowing in [[], allowances] as [TargetAllowances] {
                switch table.find("POST", target: target, allowing: allowing) {
                case .route(let index): #expect(index == 0, "\(target)")
                case .none: Issue.record("\(target)")
                case .refused: break
                }
            }
        }
    }
}

@Suite("A rollout")
struct RolloutTests {}

extension RolloutTests {
    @Test("puts keys evenly into a hundred cohorts, always the same")
    func cohorts() {
        var counts = [Int](repeating: 0, count: 100)
        for index in 0..<20_000 {
            let key = Bytes32(word0: UInt64(index), word1: 0, word2: 0, word3: 0)
            let cohort = Rollout.cohort(of: key)
            #expect(cohort == Rollout.cohort(of: key))
            counts[cohort] += 1
        }
        #expect((counts.min() ?? 0) > 120 && (counts.max() ?? 0) < 280)
        let address: [UInt8] = [192, 0, 2, 1]
        let cohort = Rollout.cohort(ofAddress: address.span)
        #expect((0..<100).contains(cohort))
    }

    @Test("reaches nobody at 0, everybody at 100, and more with each step")
    func share() {
        for cohort in 0..<100 {
            #expect(!Rollout.includes(cohort: cohort, percent: 0))
            #expect(Rollout.includes(cohort: cohort, percent: 100))
            #expect(Rollout.includes(cohort: cohort, percent: cohort + 1))
            #expect(!Rollout.includes(cohort: cohort, percent: cohort))
        }
    }
}
