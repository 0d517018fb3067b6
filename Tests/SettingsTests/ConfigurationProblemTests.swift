import Settings
import Testing

/// A bad configuration and every line that `check` prints for it, less the file's name.
struct GoldenCase: CustomTestStringConvertible {
    let name: String
    let text: String
    let problems: [String]

    init(_ name: String, _ text: String, expects problems: String) {
        self.name = name
        self.text = text
        self.problems = problems.split(separator: "\n").map(String.init)
    }

    var testDescription: String { name }
}

@Suite("ConfigurationProblem")
struct ConfigurationProblemTests {}

extension ConfigurationProblemTests {
    @Test("says everything that is wrong, and where", arguments: GoldenCase.values)
    func values(golden: GoldenCase) {
        #expect(Configuration.golden.problems(golden.text) == golden.problems)
    }

    @Test(
        "says everything that is wrong with files, addresses, stores", arguments: GoldenCase.places)
    func places(golden: GoldenCase) {
        #expect(Configuration.golden.problems(golden.text) == golden.problems)
    }

    @Test(
        "says everything that is wrong with signals and identities",
        arguments: GoldenCase.signals + GoldenCase.identity)
    func signals(golden: GoldenCase) {
        #expect(Configuration.golden.problems(golden.text) == golden.problems)
    }

    @Test("says everything that is wrong with a Redis", arguments: GoldenCase.redis)
    func redis(golden: GoldenCase) {
        #expect(Configuration.golden.problems(golden.text) == golden.problems)
    }

    @Test("says everything that is wrong with rollouts", arguments: GoldenCase.rollouts)
    func rollouts(golden: GoldenCase) {
        #expect(Configuration.golden.problems(golden.text) == golden.problems)
    }

    @Test("says everything that is wrong with upstreams and routes", arguments: GoldenCase.routes)
    func routes(golden: GoldenCase) {
        #expect(Configuration.golden.problems(golden.text) == golden.problems)
    }

    @Test("says everything that is wrong with what routes match", arguments: GoldenCase.matching)
    func matching(golden: GoldenCase) {
        #expect(Configuration.golden.problems(golden.text) == golden.problems)
    }

    @Test(
        "says everything that is wrong with what routes do",
        arguments: GoldenCase.actions + GoldenCase.bodies)
    func actions(golden: GoldenCase) {
        #expect(Configuration.golden.problems(golden.text) == golden.problems)
    }

    @Test("says everything that is wrong with quotas", arguments: GoldenCase.quotas)
    func quotas(golden: GoldenCase) {
        #expect(Configuration.golden.problems(golden.text) == golden.problems)
    }

    @Test("warns of rules for bodies that a proxy which asks does not show")
    func hiddenBodies() throws {
        for (dialect, isHidden) in [
            ("nginx", true), ("forward", true), ("json", true), ("envoy", false),
        ] {
            let warnings = try Configuration().warnings(
                """
                listeners:
                  - { bind: '127.0.0.1:1', check: { dialect: \(dialect), from: ['::1'] } }
                routes:
                  - name: a
                    path: /a
                    upstream: api
                    body_rules: [{ json: /model, in: [x] }]
                    attest: { mode: off }
                """)
            #expect(
                warnings.contains { $0.contains("body_rules: no request passes at") } == isHidden)
        }
    }

    @Test("says everything that is wrong with what routes demand", arguments: GoldenCase.attest)
    func attest(golden: GoldenCase) {
        #expect(Configuration.golden.problems(golden.text) == golden.problems)
    }

    @Test("names every missing key", arguments: ["{}", "workers: 1"])
    func missing(text: String) {
        let problems = Configuration().loader.load(text: text, fileName: "f").problems
        #expect(
            problems == [
                "f:1:1: required key \"listeners\" is missing",
                "f:1:1: required key \"registry\" is missing",
                "f:1:1: required key \"upstreams\" is missing",
                "f:1:1: required key \"routes\" is missing",
            ])
    }

    @Test(
        "refuses what is no mapping",
        arguments: [
            ("", "f:1:1: the document is empty"),
            ("- a", "f:1:1: expected a mapping, found a list"),
            ("text", "f:1:1: expected a mapping, found the text \"text\""),
            ("a: \u{0}", "f:1:4: not UTF-8, or a control character"),
        ])
    func otherRoots(text: String, problem: String) {
        #expect(Configuration().loader.load(text: text, fileName: "f").problems == [problem])
    }

    @Test(
        "says what to quote that YAML takes for something else",
        arguments: ["*.example.com", "&x.example.com", "@x", "`x`", "%x"])
    func unquoted(text: String) {
        for line in ["    hosts: [\(text)]", "    hosts:\n      - \(text)"] {
            let problems = Configuration().problems("routes:\n  - name: a\n\(line)")
            #expect(problems.count == 1)
            #expect(
                problems[0].hasSuffix("; quote a value that begins with \(text.prefix(1))"),
                "\(problems)")
        }
    }

    @Test("names a file that cannot be read, without a line")
    func unreadable() {
        let problems = Configuration().loader.load(path: "/etc/absent.yaml").problems
        #expect(problems == ["/etc/absent.yaml: cannot be read: No such file or directory"])
    }

    @Test("reads the file that it is given, and names it")
    func file() {
        let configuration = Configuration(files: ["/c.yaml": "workers: 0"])
        let problems = configuration.loader.load(path: "/c.yaml").problems
        #expect(problems.count == 5)
        #expect(problems.allSatisfy { $0.hasPrefix("/c.yaml:1:") })
    }

    @Test("never shows a password, nor what a file held")
    func secrets() {
        for golden in GoldenCase.values + GoldenCase.places + GoldenCase.redis {
            #expect(!golden.problems.joined().contains("hunter"))
        }
    }

    @Test("takes the largest file, and no larger one")
    func large() {
        let line = "                    a: 1"
        let count = 1024 * 1024 / (line.utf8.count + 1)
        let text = Array(repeating: line, count: count).joined(separator: "\n")
        let loader = Configuration().loader
        // Four keys are missing, one is unknown, all others are duplicates of it.
        #expect(loader.load(text: text, fileName: "f").problems.count == count + 4)
        let larger = text + String(repeating: "\n", count: 1024)
        #expect(
            loader.load(text: larger, fileName: "f").problems == ["f:1:1: more than 1048576 bytes"])
    }

    @Test("keeps a message on one line, and short")
    func hostileText() {
        let text = "workers: \"a\\nb\\e[31m\\u2028" + String(repeating: "x", count: 5000) + "\""
        let problems = Configuration().problems(text)
        #expect(problems.count == 1)
        #expect(problems.allSatisfy { $0.unicodeScalars.count < 200 })
        #expect(
            problems.allSatisfy { problem in
                problem.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{2028}" }
            })
    }
}

@Suite("Warnings")
struct WarningTests {}

extension WarningTests {
    @Test("shout about extra roots")
    func extraRoots() throws {
        var configuration = Configuration()
        configuration.files["/root.pem"] = try Configuration.rootPEM()
        #expect(
            try configuration.warnings("trust: { extra_roots: [/root.pem] }") == [
                "1:23: trust.extra_roots: THE HOLDER OF THE KEY OF AN EXTRA ROOT CAN IMITATE EVERY "
                    + "DEVICE: for tests only, never in production"
            ])
    }

    @Test("tell what leaves the API open")
    func open() throws {
        let text = """
            listeners: [{ bind: '0.0.0.0:80', trusted_proxies: [0.0.0.0/0, '::/0', unix] }]
            admin: { bind: '0.0.0.0:81' }
            upstreams: { api: { servers: ['a:1'] }, old: { servers: ['b:1'] } }
            routes: [{ name: a, path: '/*', upstream: api, attest: { mode: off } }]
            """
        #expect(
            try Configuration().warnings(text) == [
                "1:53: listeners[0].trusted_proxies[0]: 0.0.0.0/0 lets every client say who it is",
                "1:64: listeners[0].trusted_proxies[1]: ::/0 lets every client say who it is",
                "1:72: listeners[0].trusted_proxies[2]: unix is never a peer of 0.0.0.0:80",
                "2:16: admin.bind: 0.0.0.0:81 may be reached from other machines: metrics and "
                    + "status are public there",
                "3:41: upstreams.old: no route uses it",
                "4:9: routes: every route has attest mode off: nothing is protected",
            ])
    }

    @Test("tell where clients are told why they are refused, and where proofs are kept")
    func staging() throws {
        let text = """
            listeners: [{ bind: '127.0.0.1:80', problem_detail: true }]
            capture: { directory: kept }
            upstreams: { api: { servers: ['a:1'] } }
            routes:
              - { name: a, path: /a, upstream: api, problem_detail: true, attest: { mode: off } }
              - { name: b, path: /b, upstream: api, problem_detail: false,
                  attest: { mode: enforce, apps: any } }
            """
        let told =
            "tells clients why they are refused, strangers too: for staging, not for "
            + "production"
        #expect(
            try Configuration().warnings(text) == [
                "1:53: listeners[0].problem_detail: " + told,
                "2:23: capture.directory: keeps attestations, assertions and signed data of "
                    + "refused requests on this disk: remove it once the cause is found",
                "5:57: routes[0].problem_detail: " + told,
            ])
        #expect(try Configuration().warnings("limits: { fields: 100 }") == [])
    }

    @Test("tell of a check listener, which sees no user whom responses name")
    func hiddenUsers() throws {
        func warnings(_ listener: String, _ source: String) throws -> [String] {
            try Configuration().warnings(
                """
                listeners: [{ bind: '127.0.0.1:80', trusted_proxies: [127.0.0.1]\(listener) }]
                signals:
                  user: { header: X-User\(source) }
                """)
        }
        let check = ", check: { dialect: envoy, from: [127.0.0.1] }"
        #expect(
            try warnings(check, "") == [
                "3:9: signals.user: no user is known of requests that a proxy asks about at "
                    + "127.0.0.1:80: their responses do not come here. With from: proxy it names "
                    + "the user in its question"
            ])
        #expect(try warnings(check, ", from: proxy").isEmpty)
        #expect(try warnings("", "").isEmpty)
    }

    @Test("tell of plain HTTP where other machines send it, unless TLS ends before it")
    func plain() throws {
        func warns(_ bind: String, _ more: String = "") throws -> Bool {
            let warnings = try Configuration().warnings(
                "listeners: [{ bind: '\(bind)'\(more) }]")
            #expect(warnings.count < 2)
            return warnings.contains {
                $0 == "1:21: listeners[0].bind: \(bind) takes plain HTTP from any machine that "
                    + "reaches it: give it tls, or name in trusted_proxies or proxy_protocol "
                    + "the proxy that ends TLS"
            }
        }
        for bind in [
            "0.0.0.0:80", "[::]:80", "203.0.113.7:80", "172.32.0.1:80", "[2001:db8::1]:80",
            "api.example.com:80",
        ] {
            #expect(try warns(bind), "\(bind)")
            #expect(try !warns(bind, ", trusted_proxies: [192.0.2.1]"))
            #expect(try !warns(bind, ", proxy_protocol: { from: [192.0.2.1] }"))
            #expect(try !warns(bind, ", redirect: { to: 'https://{host}{target}' }"))
        }
        for bind in [
            "127.0.0.1:80", "localhost:80", "10.1.2.3:80", "172.31.255.1:80", "192.168.0.1:80",
            "100.64.1.1:80", "169.254.0.1:80", "[fd00::1]:80", "[fe80::1]:80", "[::1]:80",
            "unix:/run/s",
        ] { #expect(try !warns(bind), "\(bind)") }
    }

    @Test("a path that the gateway answers itself is a route's where it does not")
    func ownPaths() throws {
        func problems(accept: String) -> [String] {
            Configuration.golden.problems(
                """
                routes:
                  - { name: a, path: /assert/token, upstream: api, attest: { mode: enforce } }
                  - { name: b, path: /identity/jwks.json, upstream: api, attest: { mode: off } }
                  - name: c
                    path: /c
                    upstream: api
                    attest: { mode: enforce, accept: \(accept) }
                """)
        }
        #expect(problems(accept: "[assertion]") == [])
        #expect(
            problems(accept: "[assertion, token]") == [
                "2:22: routes[0].path: never matches: the gateway answers /assert/token itself "
                    + "(endpoints.base moves its paths)"
            ])
    }

    @Test("tell of developer tokens, and of apps that must prove what they may not attest")
    func shutOut() throws {
        let routes = """
            routes:
              - name: a
                path: /a
                upstream: api
                attest: { mode: enforce, accept: [assertion, developer] }
              - name: b
                path: /b
                upstream: api
                attest: { mode: enforce, on_missing: pass }
              - name: c
                path: /c
                upstream: api
                attest: { mode: enforce, rollout: { start: 30% } }
            """
        let developer =
            "routes[0].attest.accept: developer lets in anyone with a developer token, which "
            + "proves nothing about an app: not in production"
        #expect(try Configuration().warnings(routes) == ["5:38: " + developer])
        for (attesting, isEnough) in [
            ("30%", false), ("{ share: 30% }", false), ("{ start: 30% }", false), ("100%", true),
        ] {
            let text = "endpoints: { attest_rollout: \(attesting) }\n" + routes
            let warnings = try Configuration().warnings(text)
            #expect(warnings.contains("6:38: " + developer))
            let others = warnings.filter { !$0.hasSuffix(developer) }
            let shutOut = [
                "6:21: routes[0].attest.mode: enforce refuses more than endpoints.attest_rollout "
                    + "lets attest: the others could prove nothing"
            ]
            #expect(others == (isEnough ? [] : shutOut), "\(attesting)")
        }
        #expect(
            try Configuration().warnings(
                "endpoints: { attest_rollout: 29% }\n" + routes
            ).contains { $0.hasPrefix("14:21: routes[2].attest.mode: enforce refuses more") })
    }

    @Test("tell of a path that is guarded by its spelling alone, until it is said how it is read")
    func spellings() throws {
        func warnings(_ paths: String) throws -> [String] {
            try Configuration().warnings(
                """
                upstreams: { api: { servers: ['127.0.0.1:9001']\(paths) } }
                routes:
                  - { name: a, path: /api/transfer, upstream: api, attest: { mode: enforce } }
                  - { name: b, path: '/*', upstream: api, attest: { mode: off } }
                """)
        }
        func told(_ spellings: String) -> [String] {
            [
                "3:22: routes[0].path: guards one spelling: the route at 4:5 demands less and "
                    + "takes \(spellings), which many servers read alike: leave nothing weaker "
                    + "around it, or say in upstreams.api.paths how that upstream reads them"
            ]
        }
        let (upper, suffix, decoded) = (
            #""/api/TRANSFER""#, #""/api/transfer.json""#, #""/api/%2574ransfer""#
        )
        #expect(try warnings("") == told("\(upper), \(suffix), \(decoded)"))
        #expect(try warnings(", paths: { case: exact }") == told("\(suffix), \(decoded)"))
        #expect(try warnings(", paths: { case: ignore, decode: twice }") == told(suffix))
        for said in [
            "case: exact, suffixes: exact, decode: once",
            "case: ignore, suffixes: ignore, decode: twice",
        ] { #expect(try warnings(", paths: { \(said) }").isEmpty) }
    }

    @Test("tell of an exact path that looks as if it guarded what is below it")
    func exactPath() throws {
        func warnings(_ routes: String...) throws -> [String] {
            try Configuration().warnings("routes: [\(routes.joined(separator: ", "))]")
        }
        let attest = "upstream: api, attest: { mode: enforce } }"
        let told =
            "1:27: routes[0].path: is this one path, with or without its slash, and nothing below "
            + "it: write \"/api/*\" to guard that too"
        #expect(try warnings("{ name: a, path: /api/, \(attest)") == [told])
        #expect(try warnings("{ name: a, path: /api, \(attest)").isEmpty)
        #expect(try warnings("{ name: a, path: /, \(attest)").isEmpty)
        let below = "{ name: b, path: '/api/*', \(attest)"
        #expect(try warnings("{ name: a, path: /api/, \(attest)", below).isEmpty)
    }

    @Test("tell of bodies that a check listener never sees, unless the upstream compares them")
    func hiddenBodies() throws {
        func warnings(_ dialect: String, _ more: String, methods: String = "") throws -> Int {
            try Configuration().warnings(
                """
                listeners:
                  - { bind: 'unix:/run/s', check: { dialect: \(dialect), from: [unix] } }
                routes:
                  - { name: a, path: '/*', \(methods)
                      upstream: api, attest: { mode: enforce\(more) } }
                """
            ).count {
                $0.hasPrefix("5:") && $0.contains("no request with a body can pass by an assertion")
                    && $0.contains("that is no GET, HEAD or OPTIONS")
            }
        }
        for dialect in ["nginx", "forward"] {
            #expect(try warnings(dialect, "") == 1)
            #expect(try warnings(dialect, ", body: claimed") == 0)
            #expect(try warnings(dialect, ", client_data: body") == 1)
            #expect(try warnings(dialect, ", accept: [token]") == 0)
            #expect(try warnings(dialect, "", methods: "methods: [GET, OPTIONS],") == 0)
            #expect(try warnings(dialect, "", methods: "methods: [GET, POST],") == 1)
        }
        // A digest shows no challenge.
        #expect(try warnings("json", "") == 0)
        #expect(try warnings("json", ", client_data: body") == 1)
        #expect(try warnings("envoy", "") == 0)
    }

    @Test("name what is meant by what other proxies' configurations have")
    func otherProxies() {
        let attest = "upstream: api, attest: { mode: enforce } }"
        for (path, words) in [
            ("'/api*'", "has a * other than in a final /*: write \"/api/*\"; write a literal one"),
            ("'~ ^/api'", "is a regular expression, and paths are none: write \"/api\" for one"),
            ("'^/api/(.*)$'", "is a regular expression"), ("'/api/.*'", "is a regular expression"),
        ] {
            let problems = Configuration().problems("routes: [{ name: a, path: \(path), \(attest)]")
            #expect(problems.count == 1 && problems[0].contains(words), "\(problems)")
        }
        for (word, meant) in [
            ("haproxy", "forward"), ("Traefik", "forward"), ("auth_request", "nginx"),
            ("ext_authz", "envoy"), ("ngnix", "nginx"),
        ] {
            let problems = Configuration().problems(
                "listeners: [{ bind: 'unix:/s', check: { dialect: \(word), from: [unix] } }]")
            #expect(
                problems.count == 1 && problems[0].hasSuffix("did you mean \"\(meant)\"?"),
                "\(problems)")
        }
        let mapping = Configuration().problems("listeners: { bind: '127.0.0.1:80' }")
        #expect(
            mapping == [
                "1:12: listeners: expected a list, found a mapping: begin each of its entries with "
                    + "\"- \""
            ])
    }

    @Test("are none for a usual configuration")
    func none() throws {
        #expect(
            try Configuration().warnings(
                """
                routes:
                  - name: a
                    path: /a
                    upstream: api
                    attest: { mode: enforce, on_invalid: pass }
                  - name: b
                    path: /b
                    upstream: api
                    attest: { mode: enforce, on_missing: pass, categories: { only: [app_store] } }
                  - name: c
                    path: /c
                    upstream: api
                    attest: { mode: enforce, on_missing: pass, min_tier: attested }
                """) == [
                    "5:13: routes[0].attest: on_invalid lets any nonsense pass as a proof, while "
                        + "on_missing refuses requests with none",
                    "9:13: routes[1].attest: on_missing: pass lets anyone who sends no proof get "
                        + "around min_tier, apps, environments, categories, min_bundle_version "
                        + "and risk",
                    "13:13: routes[2].attest: on_missing: pass lets anyone who sends no proof "
                        + "get around min_tier, apps, environments, categories, "
                        + "min_bundle_version and risk",
                ])
        #expect(try Configuration().warnings("admin: { bind: localhost:1 }").isEmpty)
        #expect(try Configuration().warnings("admin: { bind: unix:/run/s }").isEmpty)
        #expect(try Configuration().warnings("admin: { bind: '[::1]:1' }").isEmpty)
    }
}

extension Result where Success == LoadedSettings, Failure == ConfigurationProblems {
    /// As `check` prints them.
    var problems: [String] {
        switch self {
        case .success: []
        case .failure(let failure): failure.problems.map(\.description)
        }
    }
}
