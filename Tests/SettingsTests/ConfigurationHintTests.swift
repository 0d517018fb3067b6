import Testing

/// What `check` says of slips that are easy to make, and what to write instead.
@Suite("A configuration's problem")
struct ConfigurationHintTests {
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
}
