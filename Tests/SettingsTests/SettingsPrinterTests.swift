import JSON
import Policy
import Settings
import Testing

@Suite("SettingsPrinter")
struct SettingsPrinterTests {}

extension SettingsPrinterTests {
    private func reload(_ settings: Settings, _ configuration: Configuration) throws -> Settings {
        let text = SettingsPrinter.text(of: settings)
        switch configuration.loader.load(text: text, fileName: "printed") {
        case .success(let loaded): return loaded.settings
        case .failure(let problems):
            Issue.record("\(problems)\n\(text)")
            throw problems
        }
    }

    @Test("prints what loads again to the same", arguments: Configuration.shipped)
    func shipped(path: String) throws {
        let configuration = try Configuration.onReadyMachine()
        let text = try Configuration.file(path)
        let settings = try configuration.loader.load(text: text, fileName: path).get().settings
        var again = try reload(settings, configuration)
        // The password is masked.
        if case .redis(let redis) = settings.counters, redis.login.password != nil {
            again.counters = settings.counters
        }
        #expect(again == settings)
    }

    @Test("prints every key")
    func everyKey() throws {
        var configuration = Configuration()
        configuration.files["/root.pem"] = try Configuration.rootPEM()
        configuration.files["/key.p8"] = try Configuration.keyPEM()
        let settings = try configuration.settings(Configuration.everyKey)
        var again = try reload(settings, configuration)
        guard case .redis(var redis) = again.counters else {
            Issue.record("no Redis")
            return
        }
        #expect(redis.login.password == SettingsPrinter.passwordMask)
        redis.login.password = "p/w"
        again.counters = .redis(redis)
        #expect(again == settings)
        #expect(!SettingsPrinter.text(of: settings).contains("p/w"))
    }

    @Test("shows a header from a file as it is written, and masks one from the environment")
    func secretHeader() throws {
        let configuration = Configuration(
            environment: ["TOKEN": "hunter3"], files: ["/secret": "hunter2{key_id}\n"])
        let settings = try configuration.settings(
            """
            routes:
              - name: a
                path: /a
                upstream: api
                request_headers:
                  set: { Authorization: "Bearer ${file:/secret}", X-Api-Key: "${TOKEN}" }
                attest: { mode: enforce }
            """)
        let text = SettingsPrinter.text(of: settings)
        #expect(text.contains("Authorization: \"Bearer ${file:/secret}\""))
        #expect(text.contains("X-Api-Key: \"***\"") && !text.contains("hunter"))
        // A brace in a key begins no variable.
        let line = try #require(settings.routes[0].requestHeaders.set.first)
        #expect(line.value == TextTemplate(literal: "Bearer hunter2{key_id}"))
        #expect(
            settings.secretFiles.map(\.path) == ["/secret"]
                && settings.secretFiles[0].setting == "routes[0].request_headers")
    }

    @Test("prints rules for bodies so that they read back the same")
    func bodyRules() throws {
        let settings = try Configuration().settings(
            """
            routes:
              - name: a
                path: /a
                upstream: api
                body_rules:
                  - { json: /model, in: [gpt-x, "1", 2, "$${x", "true"], required: false }
                  - { json: /a~1b/0/~0, min: 1, max: 9007199254740991, required: true }
                  - { json: /n, max: 0 }
                attest: { mode: enforce }
            """)
        let rules = settings.routes[0].bodyRules
        #expect(rules.count == 3 && rules[1].pointer == JSONPointer("/a~1b/0/~0"))
        #expect(
            rules[0].values == [
                .text("gpt-x"), .text("1"), .number(2), .text("${x"), .text("true"),
            ])
        #expect(try reload(settings, Configuration()) == settings)
    }

    @Test("quotes what YAML or ${…} would take apart")
    func hostileTexts() throws {
        let paths = [
            "a: b", "- x", "#x", "${A}", "$${A}", "'\"\\", "[", "{", "*x", "&x", "!x", "é😀\u{2028}",
            "x\u{85}y", " x ", "?", "~", "null", "%x", "@", "`", "\u{FEFF}x", "|", ">", "a #b",
        ]
        for path in paths {
            var settings = try Configuration().settings("")
            settings.registry = .sqlite(path: path)
            settings.secrets.challengeKeyFile = path
            #expect(try reload(settings, Configuration()) == settings)
        }
    }

    @Test("prints the defaults in readable units")
    func units() throws {
        let text = SettingsPrinter.text(of: try Configuration().settings(""))
        for line in [
            "  head: 32KiB", "  body: 1MiB", "  attestation_ttl: 1d", "  ttl: 2m", "  idle: 75s",
            "counters: embedded", "  - bind: \"127.0.0.1:8080\"", "    path: \"/*\"",
        ] {
            #expect(text.split(separator: "\n").contains(Substring(line)))
        }
    }
}
