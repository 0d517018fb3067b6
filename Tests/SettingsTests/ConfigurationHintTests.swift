import Testing

/// What `check` says of slips that are easy to make, and what to write instead.
@Suite("A configuration's problem")
struct ConfigurationHintTests {}

extension ConfigurationHintTests {
    private func problems(_ text: String) -> [String] { Configuration.golden.problems(text) }

    @Test("that is a missing space after a colon says so")
    func missingSpace() {
        for (text, problem) in [
            (
                "listeners:\n  - bind:127.0.0.1:8080",
                "2:5: listeners[0]: expected a mapping, found the text \"bind:127.0.0.1:8080\""
                    + ": write a space after \"bind:\""
            ),
            (
                "listeners: [{ bind: '127.0.0.1:80', allow:10.0.0.0/8 }]",
                "1:37: unknown key \"allow:…\" in listeners[0]"
                    + ": write a space after \"allow:\""
            ),
            (
                "listeners:\n  - bind:127.0.0.1:8080\n    allow: [127.0.0.1]",
                "3:10: YAML syntax: mapping values are not allowed in this context"
                    + "; write a space after \"bind:\""
            ),
            (
                "admin:\n  bind: 127.0.0.1:9464\n  hosts:[a.org]\nworkers: 1",
                "4:1: YAML syntax: could not find expected ':' while scanning a simple key"
                    + "; write a space after \"hosts:\""
            ),
            (
                "upstreams:\n  api:{ servers: ['127.0.0.1:9001'] }",
                "2:37: YAML syntax: did not find expected key while parsing a block mapping"
                    + "; write a space after \"api:\""
            ),
            (
                "registry:\n  sqlite:/r.db",
                "2:3: registry: expected a mapping, found the text \"sqlite:/r.db\""
                    + ": write a space after \"sqlite:\""
            ),
            (
                "registry:\n  postgres:postgresql://u:secret@h/d",
                "2:3: registry: expected a mapping, found a URL: write a space after \"postgres:\""
            ),
        ] {
            #expect(problems(text) == [problem])
        }
        // What it stands before may be a password.
        let told = problems("counters: { redis:redis://u:hunter2@h:1 }").joined()
        #expect(!told.contains("hunter2") && told.contains("write a space after \"redis:\""))
    }

    @Test("of another shape than the setting says what to write, from the setting's declaration")
    func shapes() {
        for (text, ending) in [
            ("apps: [ABCDE12345.com.example.app]", "write { id: ABCDE12345.com.example.app }"),
            (
                "apps: ABCDE12345.com.example.app",
                "write apps: [{ id: ABCDE12345.com.example.app }]"
            ),
            (
                "listeners: [{ bind: '127.0.0.1:80', trusted_proxies: 127.0.0.1 }]",
                "found the text \"127.0.0.1\": write trusted_proxies: [127.0.0.1]"
            ),
            ("listeners: ['[::1]:80']", "write { bind: \"[::1]:80\" }"),
            (
                "upstreams: { api: '127.0.0.1:9001' }",
                "write api: { servers: [127.0.0.1:9001] }"
            ),
            ("upstreams: [api]", "found a list: write upstreams: { NAME: { servers: […] } }"),
            ("admin:", "found nothing: write admin: { bind: … }"),
            (
                "challenge: 30s",
                "found the text \"30s\"; known: ttl, attestation_ttl"
            ),
            ("otlp: https://u:hunter2@h", "found a URL: write otlp: { endpoint: … }"),
        ] {
            let problems = problems(text)
            #expect(problems.count == 1 && problems[0].hasSuffix(ending), "\(problems)")
        }
    }

    @Test("that is a missing password file says nothing of a user without a password")
    func passwordFile() {
        let missing = "cannot be read: No such file or directory"
        for redis in [
            "{ redis: 'redis://h:1', username: u, password_file: /none }",
            "{ redis: { address: 'h:1', username: u, password_file: /none } }",
            "{ redis: { address: 'h:1', username: u, password: '${file:/none}' } }",
            "{ redis: { sentinel: { addresses: ['h:1'], master: m, username: u, "
                + "password_file: /none } } }",
        ] {
            let problems = problems("counters: \(redis)")
            #expect(problems.count == 1 && problems[0].hasSuffix(missing), "\(problems)")
        }
    }

    @Test("with an encrypted private key points at the key, and says that nobody decrypts it")
    func encryptedKey() throws {
        var configuration = Configuration.golden
        configuration.files["/a.crt"] = try Configuration.rootPEM()
        for (name, pem) in [("/pkcs8.key", Self.encryptedPKCS8), ("/sec1.key", Self.encryptedSEC1)]
        {
            configuration.files[name] = pem
            let told = configuration.problems(
                "listeners: [{ bind: 'a:1', tls: { certificate: /a.crt, key: \(name) } }]")
            #expect(
                told == [
                    "1:61: listeners[0].tls.key: \"\(name)\" holds an encrypted private key, and "
                        + "no passphrase is supported: decrypt it with openssl pkey"
                ])
        }
        let told = configuration.problems(
            "listeners: [{ bind: 'a:1', tls: { certificate: /a.crt, key: /a.crt } }]")
        #expect(told.count == 1 && told[0].contains("tls.key: \"/a.crt\" holds no private key"))
        configuration.files["/AuthKey.p8"] = Self.encryptedPKCS8
        for text in [
            "identity: { keys: [/AuthKey.p8] }",
            "apple: { keys: [{ key_id: ABC123DEFG, team_id: ABCDE12345, file: /AuthKey.p8 }] }",
        ] {
            let told = configuration.problems(text)
            #expect(told.contains { $0.contains("is not an unencrypted private key") }, "\(told)")
        }
    }

    @Test("is a warning where a rollout does nothing")
    func idleRollout() throws {
        for mode in ["observe", "off"] {
            for rollout in ["5%", "{ start: 1% }", "100%"] {
                let warnings = try Configuration.golden.warnings(
                    """
                    routes:
                      - { name: a, path: /a, upstream: api, attest: { mode: enforce } }
                      - { name: b, path: /b, upstream: api, \
                    attest: { mode: \(mode), rollout: \(rollout) } }
                    """)
                // That is the standard, which `check --print` names.
                guard rollout != "100%" else {
                    #expect(warnings.isEmpty)
                    continue
                }
                #expect(
                    warnings.map { $0.drop { $0 != " " } } == [
                        " routes[1].attest.rollout: does nothing with mode \(mode): it is the "
                            + "share of keys that enforce refuses"
                    ])
            }
        }
    }

    @Test("is a warning where a route redirects to whatever host a request names")
    func hostOfRedirect() throws {
        func warnings(_ hosts: String, _ location: String) throws -> [String] {
            try Configuration.golden.warnings(
                """
                routes:
                  - { name: a, path: /a, upstream: api, attest: { mode: enforce } }
                  - { name: b, path: /b, \(hosts)redirect: { to: '\(location)' }, \
                attest: { mode: enforce } }
                """)
        }
        #expect(
            try warnings("", "https://{host}/x").map { $0.drop { $0 != " " } } == [
                " routes[1].redirect.to: leads to whatever host a request names: list hosts beside "
                    + "redirect, or begin with a path"
            ])
        #expect(try warnings("hosts: [a.org], ", "https://{host}/x").isEmpty)
        #expect(try warnings("", "/x?from={host}").isEmpty)
        #expect(try warnings("", "https://a.org/{host}").isEmpty)
        // A listener has no hosts, and mostly sends everybody back to where they came, with TLS.
        #expect(
            try Configuration.golden.warnings(
                """
                listeners:
                  - { bind: '127.0.0.1:80', redirect: { to: 'https://{host}{target}' } }
                  - { bind: '127.0.0.1:81' }
                """
            ).isEmpty)
    }

    private static let encryptedPKCS8 = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjhNvYn6/j25AICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEPUSY3X0kKIu40W4K36UBvgEgZAi
        hqHnIKQKrJlwQPcgthbKJ7xMFeuyxByNLYTGnWQTqurkj2nz3IDdixrECVu+M8/2
        kuC0pFukWDfJXz6hRnjkDyV7tLSYfZojijOu1o7JSHgyJm8ZEhCG7iaWeuwB3i6J
        OJ9tp3DK6Xuphz+CIbGKMTQZMtps2lzOkF3U0ikYpv7ze7g/dhVkfKtEzsv0IVQ=
        -----END ENCRYPTED PRIVATE KEY-----
        """
    private static let encryptedSEC1 = """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-256-CBC,DA0839D49F495C000D0801F5E0EE93D6

        D4kG33Sv2SkWc0isri2l5ToRtM0rC2xXeSK9/oykepsvOKo+NHAU0F09b5fxeVv2
        xQ8adGJspnE+EGX5b0jzL3lF6gVBn84/SD4OV9gaouxg3f2eF3JlGJyRiEfBAFGZ
        7MOep2FvEOQBJtgi8d0w4Ib50pg5yahDSK4efwGT7SI=
        -----END EC PRIVATE KEY-----
        """
}
