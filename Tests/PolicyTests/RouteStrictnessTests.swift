import Policy
import Testing

@Suite("What routes demand, compared")
struct RouteStrictnessTests {}

extension RouteStrictnessTests {
    private func enforcing(
        _ configure: (inout RoutePolicy) -> Void = { _ in }
    ) -> Route {
        var made = route(.prefix("/"), [], .enforce)
        configure(&made.attest)
        return made
    }

    /// Of two routes the first demands less, in this setting alone.
    private func expect(
        _ weaker: Route, below stricter: Route, in setting: String,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(weaker.settingsBelow(stricter) == [setting], sourceLocation: location)
        #expect(stricter.settingsBelow(weaker).isEmpty, sourceLocation: location)
    }

    @Test("a mode is more than another; what is not enforced demands nothing else")
    func modes() {
        let (off, observing) = (route(.prefix("/")), route(.prefix("/"), [], .observe))
        expect(off, below: observing, in: "mode")
        expect(observing, below: enforcing { policy in policy.onMissing = .pass }, in: "mode")
        var strict = observing
        strict.attest.environments = .production
        strict.attest.minTier = .attested
        #expect(observing.settingsBelow(strict).isEmpty)
        #expect(strict.settingsBelow(observing).isEmpty)
    }

    @Test("each setting alone makes a route weaker")
    func settings() {
        let strict = enforcing()
        expect(enforcing { policy in policy.rolloutPercent = 99 }, below: strict, in: "rollout")
        expect(
            enforcing { policy in policy.accept = [.assertion, .token] }, below: strict,
            in: "accept")
        expect(enforcing { policy in policy.accept = .token }, below: strict, in: "accept")
        expect(enforcing { policy in policy.onMissing = .pass }, below: strict, in: "on_missing")
        expect(enforcing { policy in policy.onInvalid = .pass }, below: strict, in: "on_invalid")
        for failure in [StoreFailurePolicy.tokensOnly, .limit, .pass] {
            expect(
                enforcing { policy in policy.onStoreFailure = failure }, below: strict,
                in: "on_store_failure")
        }
        let both = enforcing { policy in policy.accept = [.assertion, .token] }
        let tiered = enforcing { policy in
            policy.accept = [.assertion, .token]
            policy.minTier = .attested
        }
        expect(both, below: tiered, in: "min_tier")
        // A tier that is denied is as good as a proof that is not accepted.
        #expect(tiered.settingsBelow(strict).isEmpty && strict.settingsBelow(tiered).isEmpty)
        let lenient = enforcing { policy in
            policy = tiered.attest
            policy.onLowerTier = .limit
            policy.limits.lowerTier = "slow"
        }
        #expect(lenient.settingsBelow(tiered) == ["accept"])
        expect(both, below: lenient, in: "min_tier")
        // Only tokens, or tokens too: the least is the same.
        let tokens = enforcing { policy in policy.accept = .token }
        #expect(tokens.settingsBelow(both).isEmpty && both.settingsBelow(tokens).isEmpty)
    }

    @Test("what is signed, and what may come again, are demands of routes that take assertions")
    func signatures() {
        let strict = enforcing()
        func replay(_ replay: ReplayPolicy) -> Route {
            enforcing { policy in policy.replay = replay }
        }
        let body = enforcing { policy in policy.clientData = .body }
        expect(body, below: strict, in: "client_data")
        let unchallenged = enforcing { policy in
            policy.challenge = .off
            policy.replay = .durable
        }
        expect(unchallenged, below: replay(.durable), in: "challenge")
        #expect(unchallenged.settingsBelow(strict) == ["challenge"])
        #expect(strict.settingsBelow(unchallenged) == ["replay"])
        expect(strict, below: replay(.durable), in: "replay")
        expect(replay(.window(64)), below: strict, in: "replay")
        expect(replay(.window(64)), below: replay(.window(63)), in: "replay")
        #expect(strict.settingsBelow(replay(.window(1))).isEmpty)
        #expect(replay(.window(1)).settingsBelow(strict).isEmpty)
        // Where no assertion is taken nothing is signed.
        let tokens = enforcing { policy in policy.accept = .token }
        let others = enforcing { policy in
            policy.accept = .token
            policy.clientData = .body
        }
        #expect(tokens.settingsBelow(others).isEmpty && others.settingsBelow(tokens).isEmpty)
    }

    @Test("restrictions are sets: less is more, and neither may be")
    func restrictions() {
        let open = enforcing()
        func apps(_ ids: Set<String>, areAll: Bool = false) -> Route {
            enforcing { policy in
                policy.apps = .named(ids, areAll: areAll)
            }
        }
        expect(open, below: apps(["a"]), in: "apps")
        expect(apps(["a", "b"]), below: apps(["a"]), in: "apps")
        #expect(apps(["a"]).settingsBelow(apps(["b"])) == ["apps"])
        // To name all that there are is to say `any`.
        let all = apps(["a", "b"], areAll: true)
        #expect(open.settingsBelow(all).isEmpty && all.settingsBelow(open).isEmpty)
        func environments(_ environments: KeyEnvironments) -> Route {
            enforcing { policy in policy.environments = environments }
        }
        expect(open, below: environments(.production), in: "environments")
        let (production, development) = (environments(.production), environments(.development))
        #expect(production.settingsBelow(development) == ["environments"])
        #expect(development.settingsBelow(production) == ["environments"])
        func categories(_ numbers: [UInt32], orMissing: Bool) -> Route {
            enforcing { policy in
                policy.categories = AppCategories(numbers, orMissing: orMissing)
            }
        }
        let store = categories([4], orMissing: false)
        expect(open, below: store, in: "categories")
        expect(categories([4], orMissing: true), below: store, in: "categories")
        expect(categories([2, 4], orMissing: false), below: store, in: "categories")
        let test = categories([2], orMissing: false)
        #expect(test.settingsBelow(store) == ["categories"])
        #expect(store.settingsBelow(test) == ["categories"])
        var mixed = test
        mixed.attest.onMissing = .pass
        #expect(mixed.settingsBelow(store) == ["on_missing", "categories"])
    }

    @Test("versions are compared by what is refused")
    func versions() throws {
        func rule(
            _ min: String?, grace: String? = nil, apps: [String: String] = [:],
            missing: VersionRule.Unknown = .deny
        ) throws -> Route {
            var rule = VersionRule()
            rule.missing = missing
            rule.common = try min.map {
                VersionBounds(
                    min: try #require(BundleVersion($0)),
                    grace: try grace.map { try #require(BundleVersion($0)) })
            }
            rule.apps = try apps.mapValues {
                VersionBounds(min: try #require(BundleVersion($0)))
            }
            return enforcing { policy in policy.versions = rule }
        }
        let strict = try rule("4.10")
        expect(enforcing(), below: strict, in: "min_bundle_version")
        expect(try rule("4.9"), below: strict, in: "min_bundle_version")
        expect(try rule("5", grace: "4.9"), below: strict, in: "min_bundle_version")
        expect(try rule("4.10", missing: .pass), below: strict, in: "min_bundle_version")
        #expect(try rule("5", grace: "4.10").settingsBelow(strict).isEmpty)
        #expect(try rule("4.10.0").settingsBelow(strict).isEmpty)
        expect(try rule("4.10", apps: ["a": "4"]), below: strict, in: "min_bundle_version")
        let named = try rule(nil, apps: ["a": "5"])
        #expect(named.settingsBelow(strict) == ["min_bundle_version"])
        #expect(strict.settingsBelow(named) == ["min_bundle_version"])
    }

    @Test("developer tokens are less than any proof, and a risk threshold is more than none")
    func developersAndRisk() {
        let strict = enforcing()
        let developers = enforcing { policy in policy.accept = [.assertion, .developer] }
        expect(developers, below: strict, in: "accept")
        let tokens = enforcing { policy in policy.accept = [.assertion, .token] }
        #expect(developers.settingsBelow(tokens) == ["accept"])
        #expect(tokens.settingsBelow(developers) == ["accept"])
        let all = enforcing { policy in policy.accept = [.assertion, .token, .developer] }
        expect(all, below: tokens, in: "accept")
        func risk(_ max: UInt32, _ action: RiskRule.Action, _ limit: String? = nil) -> Route {
            enforcing { policy in
                policy.risk = RiskRule(max: max)
                policy.risk?.action = action
                policy.limits.risk = limit
            }
        }
        #expect(strict.settingsBelow(risk(3, .observe)).isEmpty)
        expect(strict, below: risk(3, .deny), in: "risk")
        expect(strict, below: risk(3, .limit, "a"), in: "risk")
        expect(risk(4, .deny), below: risk(3, .deny), in: "risk")
        expect(risk(3, .limit, "a"), below: risk(3, .deny), in: "risk")
        #expect(risk(3, .limit, "a").settingsBelow(risk(3, .limit, "b")) == ["risk"])
        #expect(risk(3, .deny).settingsBelow(risk(4, .limit, "a")).isEmpty)
        #expect(risk(4, .deny).settingsBelow(risk(3, .limit, "a")) == ["risk"])
    }

    @Test("a tier that risk lowers is as strict as what follows from that tier")
    func riskTiers() {
        func lowering(
            to tier: TrustTier, minTier: TrustTier = .none, below: ShortfallAction = .deny
        ) -> Route {
            enforcing { policy in
                (policy.minTier, policy.onLowerTier) = (minTier, below)
                policy.risk = RiskRule(max: 3)
                policy.risk?.action = .lower
                policy.risk?.tier = tier
            }
        }
        let denying = enforcing { policy in
            policy.minTier = .attested
            policy.risk = RiskRule(max: 3)
            policy.risk?.action = .deny
        }
        // The upstream reads the tier, though both let the request pass.
        expect(lowering(to: .deviceCheck), below: lowering(to: .token), in: "risk")
        expect(enforcing { _ in }, below: lowering(to: .deviceCheck), in: "risk")
        let strict = lowering(to: .token, minTier: .attested)
        #expect(strict.settingsBelow(denying).isEmpty)
        #expect(denying.settingsBelow(strict).isEmpty)
        expect(lowering(to: .token, minTier: .attested, below: .pass), below: strict, in: "risk")
    }

    @Test("the same limit is the same, another is another")
    func limits() {
        func limited(_ name: String) -> Route {
            enforcing { policy in
                policy.onMissing = .limit
                policy.limits.missing = name
            }
        }
        expect(limited("a"), below: enforcing(), in: "on_missing")
        expect(
            enforcing { policy in policy.onMissing = .pass }, below: limited("a"),
            in: "on_missing")
        #expect(limited("a").settingsBelow(limited("a")).isEmpty)
        #expect(limited("a").settingsBelow(limited("b")) == ["on_missing"])
        func failing(_ name: String) -> Route {
            enforcing { policy in
                policy.onStoreFailure = .limit
                policy.limits.storeFailure = name
            }
        }
        #expect(failing("a").settingsBelow(failing("b")) == ["on_store_failure"])
    }

    @Test("where two routes each demand what the other does not, both are weaker")
    func weakness() {
        var production = enforcing { policy in policy.environments = .production }
        production.hosts = []
        var store = route(.prefix("/"), [], .enforce, hosts: ["a.org"])
        store.attest.categories = AppCategories([4], orMissing: false)
        let routes = [production, store]
        let problems = RouteWeakness.problems(
            in: routes, table: RouteTable(routes), upstreamGroups: [0])
        #expect(
            problems == [
                RouteProblem(routeIndex: 0, kind: .weaker(than: 1, path: "/")),
                RouteProblem(routeIndex: 1, kind: .weaker(than: 0, path: "/")),
            ])
        var permitted = routes
        permitted[0].allowsWeaker = true
        permitted[1].allowsWeaker = true
        #expect(
            RouteWeakness.problems(
                in: permitted, table: RouteTable(permitted), upstreamGroups: [0]
            ).isEmpty)
        var both = production
        both.hosts = store.hosts
        both.attest.categories = store.attest.categories
        let covered = [production, both]
        #expect(
            RouteWeakness.problems(
                in: covered, table: RouteTable(covered), upstreamGroups: [0])
                == [RouteProblem(routeIndex: 0, kind: .weaker(than: 1, path: "/"))])
    }

    @Test("a slash leads to the stricter of two routes, and to none where neither is")
    func slash() {
        var exact = route(.exact("/x"), [], .enforce)
        var below = route(.prefix("/x/"), [], .enforce)
        func taken(_ path: String) -> Int? {
            let table = RouteTable([exact, below])
            #expect(table.problems.isEmpty)
            let explanation = explain(path)
            #expect(table.find(Request("GET", path)) == explanation.firstIndex(of: .taken))
            return table.find(Request("GET", path))
        }
        func explain(_ path: String) -> [RouteExplanation.Verdict] {
            let request = Request("GET", path)
            return RouteExplanation(
                routes: [exact, below], method: "GET", path: Array(path.utf8),
                authority: request.bytes.span.extracting(0..<0), fields: [],
                bytes: request.bytes.span, trustsForwarding: false
            ).verdicts
        }
        #expect(taken("/x/") == 0)
        below.attest.environments = .production
        #expect(taken("/x/") == 1)
        exact.attest.categories = AppCategories([4], orMissing: false)
        #expect(taken("/x/") == nil)
        #expect(explain("/x/") == [.otherDemands, .otherDemands])
        #expect(taken("/x") == 0)
        #expect(taken("/x/y") == 1)
    }
}

@Suite("Versions of bundles")
struct BundleVersionTests {}

extension BundleVersionTests {
    private func order(_ text: String, _ version: String) throws -> BundleVersion.Order? {
        try #require(BundleVersion(version)).order(of: text)
    }

    @Test(
        "are compared number by number",
        arguments: [
            ("4.9", "4.10", BundleVersion.Order.before), ("4.10", "4.9", .after),
            ("4", "4.0.0", .same), ("4.0.0", "4", .same), ("4.0.1", "4", .after),
            ("3.99.99", "4", .before), ("04.010", "4.10", .same), ("1", "1", .same),
            ("10", "9", .after), ("0", "0.0.1", .before), ("1.2.3.4.5.6.7.8.9", "1.2", .after),
            ("99999999999999999999999999", "999999999999999999", .after),
        ])
    func orders(text: String, version: String, expected: BundleVersion.Order) throws {
        #expect(try order(text, version) == expected)
    }

    @Test(
        "are numbers and periods, nothing else",
        arguments: ["", ".", "1.", ".1", "1..2", "1a", "1.2b3", " 1", "1 ", "-1", "+1", "١", "1,2"])
    func malformed(text: String) throws {
        #expect(try order(text, "1") == nil)
        #expect(BundleVersion(text) == nil)
    }

    @Test("have bounds in a configuration")
    func bounds() {
        #expect(BundleVersion("1.2.3.4.5.6.7.8") != nil)
        #expect(BundleVersion("1.2.3.4.5.6.7.8.9") == nil)
        #expect(BundleVersion("999999999999999999") != nil)
        #expect(BundleVersion("1000000000000000000") == nil)
    }

    @Test("a rule tells current, outdated, too old, malformed and missing apart")
    func rule() throws {
        let (min, grace) = (try #require(BundleVersion("4.2")), try #require(BundleVersion("4.0")))
        var rule = VersionRule(common: VersionBounds(min: min, grace: grace))
        func verdict(_ version: String?) -> VersionRule.Verdict {
            rule.verdict(version: version, appID: "a")
        }
        #expect(verdict("4.2") == .current)
        #expect(verdict("4.1.9") == .outdated)
        #expect(verdict("4") == .outdated)
        #expect(verdict("3.9") == .tooOld)
        #expect(verdict("four") == .malformed)
        #expect(verdict(nil) == .missing)
        // Of an app that nobody knows the version is not known either.
        #expect(rule.verdict(version: "9", appID: nil) == .missing)
        rule.missing = .outdated
        #expect(verdict(nil) == .outdated)
        rule.missing = .pass
        #expect(verdict(nil) == .current)
        rule.apps["a"] = VersionBounds(min: try #require(BundleVersion("9")))
        #expect(verdict("4.2") == .tooOld)
        #expect(rule.verdict(version: "4.2", appID: "b") == .current)
        rule.common = nil
        #expect(rule.verdict(version: nil, appID: "b") == .current)
    }
}

@Suite("Categories of apps")
struct AppCategoryTests {}

extension AppCategoryTests {
    @Test("are those named; numbers that nobody knows are in all only")
    func sets() {
        let only = AppCategories([2, 4], orMissing: false)
        #expect([2, 4].allSatisfy { only.contains($0) })
        #expect([0, 1, 3, 7, 29, 30, 31, 32, UInt32.max].allSatisfy { !only.contains($0) })
        #expect(!only.contains(nil))
        #expect(AppCategories([4], orMissing: true).contains(nil))
        #expect([nil, 0, 4, 29, 30, 31, 32, .max].allSatisfy { AppCategories.all.contains($0) })
        #expect(!AppCategories([30, 31], orMissing: false).contains(31))
    }
}
