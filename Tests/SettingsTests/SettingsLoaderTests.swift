import AppAttest
import Attestation
import Crypto
import HTTP
import Policy
import Settings
import Testing

@Suite("SettingsLoader")
struct SettingsLoaderTests {}

extension SettingsLoaderTests {
    @Test("takes file names from the configuration's own directory on, wherever it is started")
    func places() throws {
        func settings(_ file: String, in workingDirectory: String) throws -> Settings {
            let read = ["/etc/s/root.pem": try Configuration.rootPEM(), "/etc/s/ttl": "7s"]
            let loader = SettingsLoader(
                processorCount: 1, workingDirectory: workingDirectory, environment: { _ in nil }
            ) { path in
                read[path].map { .success(Array($0.utf8)) } ?? .failure(FileReadFailure(path))
            }
            let text = """
                registry: { sqlite: data/r.db }
                trust: { extra_roots: [root.pem] }
                challenge: { ttl: "${file:ttl}" }
                secrets: { challenge_key_file: /keys }
                log: { access: ./access.log }
                """
            return try loader.load(text: Configuration.completed(text), fileName: file).get()
                .settings
        }
        for (file, directory) in [
            ("/etc/s/f.yaml", "/elsewhere"), ("f.yaml", "/etc/s"), ("s/f.yaml", "/etc"),
            ("etc/s/f.yaml", "/"),
        ] {
            let settings = try settings(file, in: directory)
            #expect(settings.registry == .sqlite(path: "/etc/s/data/r.db"))
            #expect(settings.trust.extraRootPaths == ["/etc/s/root.pem"])
            #expect(settings.challenge.timeToLive == .seconds(7))
            #expect(settings.secrets.challengeKeyFile == "/keys")
            #expect(settings.log.access == .file(path: "/etc/s/./access.log"))
        }
    }

    @Test("gives every default to a minimal file")
    func defaults() throws {
        let settings = try Configuration().settings("")
        var expected = Settings()
        expected.listeners = [ListenerSettings(bind: .tcp(host: "127.0.0.1", port: 8080))]
        let id = "ABCDE12345.com.example.app"
        expected.apps = [
            AppIdentity(
                id: id, environments: [.production])
        ]
        // One worker for each processor of the machine that the fixture describes.
        expected.workerCount = 4
        expected.registry = .sqlite(path: "/r.db")
        expected.upstreams = [
            UpstreamSettings(name: "api", servers: [.tcp(host: "127.0.0.1", port: 9001)])
        ]
        var policy = RoutePolicy()
        policy.mode = .enforce
        expected.routes = [
            Route(
                name: "all", path: .prefix("/"), methods: [], upstream: 0, attest: policy,
                bodyByteCountMax: 1024 * 1024)
        ]
        #expect(settings == expected)
    }

    @Test("sets every key")
    func everyKey() throws {
        var configuration = Configuration(processorCount: 6)
        configuration.files["/root.pem"] = try Configuration.rootPEM()
        configuration.files["/key.p8"] = try Configuration.keyPEM()
        let settings = try configuration.settings(Configuration.everyKey)
        #expect(settings.workerCount == 6)
        let defaults = Settings()
        #expect(settings.listeners.count == 3)
        #expect(settings.trust.extraRoots.count == 1)
        #expect(settings.listeners[0].allow == TargetAllowances(rawValue: 0b111111))
        #expect(settings.listeners[1].bind == .tcp(host: "::1", port: 0))
        #expect(settings.listeners[2].bind == .unix(path: "/run/s.sock"))
        #expect(
            settings.listeners[0].trustedProxies == [
                .block(AddressBlock(address: [10, 0, 0, 0], prefixBitCount: 8)),
                .block(AddressBlock(address: [192, 0, 2, 1], prefixBitCount: 32)),
                .block(
                    AddressBlock(
                        address: [0xFD] + [UInt8](repeating: 0, count: 15), prefixBitCount: 8)),
            ])
        #expect(settings.listeners[2].trustedProxies == [.unix])
        #expect(
            settings.listeners[0].proxyProtocol == [
                .block(AddressBlock(address: [10, 1, 0, 0], prefixBitCount: 16)),
                .block(
                    AddressBlock(
                        address: [0xFD] + [UInt8](repeating: 0, count: 14) + [1],
                        prefixBitCount: 128)),
            ])
        #expect(settings.listeners[0].rateLimits == ["first_limit"])
        #expect(
            settings.rateLimits.map(\.name)
                == ["attestation", "challenge", "first_limit", "first.key"])
        #expect(settings.rateLimits[2].burst == 30)
        #expect(settings.routes[0].rateLimits == ["first_limit", "first.key"])
        #expect(settings.apps[1].environments == [.production, .development])
        // Mirrors know the names of all members: each differs from its default.
        expectDifferent(settings.limits, defaults.limits)
        expectDifferent(settings.timeouts, defaults.timeouts)
        expectDifferent(settings.challenge, defaults.challenge)
        expectDifferent(settings.developerTokens, defaults.developerTokens)
        expectDifferent(settings.endpoints, defaults.endpoints)
        expectDifferent(settings.headers, defaults.headers)
        expectDifferent(settings.keyCache, defaults.keyCache)
        expectDifferent(settings.secrets, defaults.secrets)
        expectDifferent(settings.log, defaults.log)
        expectDifferent(settings.trust, defaults.trust)
        expectDifferent(settings.upstreams[0], UpstreamSettings(name: "", servers: []))
        var policy = settings.routes[0].attest
        // In the body shape there is nothing to claim.
        policy.body = settings.routes[2].attest.body
        expectDifferent(policy, RoutePolicy())
        expectDifferent(settings, defaults)
        guard case .redis(let redis) = settings.counters else {
            Issue.record("no Redis")
            return
        }
        expectDifferent(redis, RedisSettings(endpoint: .unix(path: "")))
        #expect(redis.login.password == "p/w")
        #expect(settings.routes[1].attest.replay == .durable)
        #expect(settings.routes[2].bodyByteCountMax == settings.limits.bodyByteCountMax)
        #expect(settings.routes[2].path == .prefix("/a b/".replacing(" ", with: "%20")))
    }

    @Test("sets every key of routes")
    func everyRouteKey() throws {
        var configuration = Configuration()
        configuration.files["/root.pem"] = try Configuration.rootPEM()
        configuration.files["/key.p8"] = try Configuration.keyPEM()
        let settings = try configuration.settings(Configuration.everyKey)
        #expect(
            settings.routes[2].hosts.map(\.description) == [
                "api.example.com", "*.example.org", "[0000:0000:0000:0000:0000:0000:0000:0001]",
            ])
        #expect(
            settings.routes[2].headers == [
                HeaderCondition(name: "x-debug", test: .present),
                HeaderCondition(name: "x-old", test: .absent),
                HeaderCondition(name: "x-version", test: .equals("2")),
                HeaderCondition(name: "x-w", test: .equals("absent")),
            ])
        #expect(settings.routes[2].allowsWeaker)
        let policy = settings.routes[0].attest
        #expect(policy.limits.invalid == "first_limit")
        #expect(policy.limits.lowerTier == "first.key")
        #expect(policy.categories == AppCategories([2, 4], orMissing: true))
        #expect(policy.versions?.common?.min.text == "4.10")
        #expect(
            policy.versions?.bounds(of: "ABCDE12345.com.example.app")?.floor.text == "8")
        #expect(settings.routes[2].attest.onStoreFailure == .limit)
        #expect(settings.routes[2].attest.limits.storeFailure == "first_limit")
        #expect(
            settings.routes[2].attest.categories
                == AppCategories([1, 3, 5, 6, 10], orMissing: false))
        #expect(settings.routes[2].attest.versions?.common?.floor.text == "120")
        #expect(
            settings.listeners[0].redirect?.except
                == [.prefix("/.well-known/acme-challenge/"), .exact("/alive")])
        #expect(settings.listeners[0].redirect?.redirect.status == 308)
        #expect(settings.routes[2].rewrite == .prefix("/v2/"))
        #expect(settings.routes[2].upstreamHost == .name("in.example:81"))
        #expect(settings.routes[2].requestHeaders.remove == ["cookie"])
        #expect(
            settings.routes[2].requestHeaders.set.map(\.value.pieces) == [
                [.variable(.clientAddress)], [.literal("{a} "), .variable(.requestID)],
            ])
        #expect(settings.routes[2].responseHeaders.add.map(\.name) == ["X-A"])
        expectDifferent(settings.routes[2].overrides, RouteOverrides())
        #expect(settings.routes[3].rewrite == .path("/auth"))
        #expect(settings.routes[4].upstream == nil && settings.routes[5].upstream == nil)
        #expect(
            settings.routes[5].answer
                == .respond(
                    FixedResponse(status: 418, body: "a \"b\"", contentType: "text/html")))
    }

    @Test(
        "reads every unit of time",
        arguments: [
            ("1500ms", Duration.milliseconds(1500)), ("30s", .seconds(30)), ("5m", .seconds(300)),
            ("1h", .seconds(3600)), ("007s", .seconds(7)),
        ])
    func durations(text: String, duration: Duration) throws {
        #expect(
            try Configuration().settings("challenge: { ttl: \(text) }").challenge.timeToLive
                == duration)
    }

    @Test(
        "reads every unit of size",
        arguments: [
            ("0B", 0), ("512B", 512), ("64KiB", 65_536), ("3MiB", 3_145_728), ("2GiB", 1 << 31),
        ])
    func sizes(text: String, byteCount: Int) throws {
        #expect(
            try Configuration().settings("limits: { body: \(text) }").limits.bodyByteCountMax
                == byteCount)
    }

    @Test("reads Redis URLs", arguments: redisURLs)
    func redis(url: String, expected: RedisSettings) throws {
        #expect(
            try Configuration().settings("counters: { redis: '\(url)' }").counters
                == .redis(expected))
    }

    static let redisURLs: [(String, RedisSettings)] = [
        ("redis://h", RedisSettings(endpoint: .tcp(host: "h", port: 6379))),
        ("REDIS://H:1/", RedisSettings(endpoint: .tcp(host: "h", port: 1))),
        ("redis://[::1]/2", RedisSettings(endpoint: .tcp(host: "::1", port: 6379), database: 2)),
        ("redis://[::1]:7/2", RedisSettings(endpoint: .tcp(host: "::1", port: 7), database: 2)),
        ("redis://:p@h", RedisSettings(endpoint: .tcp(host: "h", port: 6379), password: "p")),
        (
            "redis://u:p%40%2F:%25@h:1",
            RedisSettings(
                endpoint: .tcp(host: "h", port: 1), username: "u", password: "p@/:%")
        ),
        ("unix:///run/r.sock", RedisSettings(endpoint: .unix(path: "/run/r.sock"))),
        ("redis+unix:///run/r.sock", RedisSettings(endpoint: .unix(path: "/run/r.sock"))),
        (
            "unix://u:p@/run/r.sock",
            RedisSettings(endpoint: .unix(path: "/run/r.sock"), username: "u", password: "p")
        ),
    ]

    @Test(
        "refuses other URLs without showing them",
        arguments: [
            "redis://", "redis://h:0", "redis://h:99999", "redis://hunter2@h", "redis://h/x",
            "redis://h/65536", "redis://h?db=1", "redis://u:%zz@h", "redis://u:%ff@h",
            "redis://u:%00@h", "unix://h/x", "unix://", "http://hunter2", "rediss://hunter2@h",
            "redis:/h", "redis://[::1", "redis://a b", "redis://u:hunter2/x@h",
        ])
    func badURLs(url: String) {
        let problems = Configuration().problems("counters: { redis: '\(url)' }")
        #expect(problems.count == 1)
        #expect(problems.allSatisfy { $0.hasPrefix("1:20: counters.redis: the URL ") })
        #expect(problems.allSatisfy { !$0.contains("hunter") })
    }

    @Test("compares routes and endpoints in normal form")
    func normalForms() throws {
        let settings = try Configuration().settings(
            """
            endpoints: { base: '/%78' }
            routes:
              - { name: a, path: '/%61/b%2a', upstream: api, attest: { mode: enforce } }
              - { name: b, path: '/attest/verify', upstream: api, attest: { mode: enforce } }
              - { name: c, path: '/x', methods: [GET], upstream: api, attest: { mode: enforce } }
              - { name: d, path: '/x', methods: [HEAD], upstream: api, attest: { mode: enforce } }
              - { name: e, path: '/x', upstream: api, attest: { mode: enforce } }
            """)
        #expect(settings.endpoints.base == "/x/")
        #expect(settings.routes.map(\.path)[0] == .exact("/a/b*"))
    }

    private func expectDifferent<Value>(_ value: Value, _ defaults: Value) {
        let pairs = zip(Mirror(reflecting: value).children, Mirror(reflecting: defaults).children)
        for (member, other) in pairs {
            #expect(
                String(describing: member.value) != String(describing: other.value),
                "\(Value.self).\(member.label ?? "")")
        }
    }
}
