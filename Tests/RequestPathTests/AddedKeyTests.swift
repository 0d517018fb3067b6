import Foundation
import GatewayTesting
import JSON
import Testing

/// Keys of APIs that the gateway adds behind the proof, and that clients never see.
@Suite("A key that the gateway adds", .enabled(if: BuiltProgram.isBuilt))
struct AddedKeyTests {
    private static let key = "sk-of-the-provider-{1}"

    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
        try write(Self.key)
    }
}

extension AddedKeyTests {
    private func write(_ key: String) throws {
        try directory.write(key + "\n", to: "key")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: directory.path(of: "key"))
    }

    private func configuration(more: [String] = []) -> GatewayConfiguration {
        let value = "\"Bearer ${file:\(directory.path(of: "key"))}\""
        func route(_ name: String, _ edits: String, attest: String) -> GatewayConfiguration.Route {
            .init(
                name, path: "/\(name)", attest: attest,
                more: ["request_headers: { \(edits) }", "problem_detail: true"] + more)
        }
        return GatewayConfiguration(
            upstreamPort: upstream.port,
            routes: [
                route("ai", "set: { Authorization: \(value) }", attest: "mode: off"),
                route("proved", "set: { Authorization: \(value) }", attest: "mode: enforce"),
                route(
                    "other", "add: { X-Provider: \(value) }, keep: [Authorization]",
                    attest: "mode: off"),
                route("plain", "set: { X-Provider: value }", attest: "mode: off"),
            ])
    }

    /// All of a message that a client gets.
    private func text(_ message: HTTPMessage) -> String {
        message.fields.map { "\($0.name): \($0.value)\n" }.joined() + message.bodyText
    }

    private static let credentials = [
        ("authorization", "Bearer mine"), ("Api-Key", "mine"), ("X-Api-Key", "mine"),
        ("X_Api_Key", "mine"), ("x-goog-api-key", "mine"), ("X-Goog.Api.Key", "mine"),
        ("api_key", "mine"),
    ]

    @Test("goes upstream in place of the client's own, in whatever spelling")
    func replaces() throws {
        let gateway = try GatewayProcess(configuration())
        for target in ["/ai", "/other", "/plain"] {
            let answer = try gateway.exchange("GET", target, fields: Self.credentials)
            #expect(answer.status == 200 && !text(answer).contains(Self.key))
        }
        func mine(_ index: Int) -> [String] {
            upstream.requests[index].message.fields.filter { $0.value.hasSuffix("mine") }
                .map(\.name)
        }
        #expect(upstream.requests[0].message.values(of: "Authorization") == ["Bearer " + Self.key])
        #expect(mine(0).isEmpty)
        #expect(upstream.requests[1].message.values(of: "X-Provider") == ["Bearer " + Self.key])
        #expect(mine(1) == ["authorization"])
        #expect(mine(2) == Self.credentials.map(\.0))
    }

    @Test("is read again with the configuration, and kept if it is no key any more")
    func reload() throws {
        let gateway = try GatewayProcess(configuration())
        try write("sk-new")
        #expect(try gateway.reload(configuration())["event"]?.stringValue == "reloaded")
        #expect(try gateway.exchange("GET", "/ai").status == 200)
        for bad in ["", "two\nlines", "sk\u{7}", " sk", String(repeating: "k", count: 8193)] {
            try write(bad)
            let event = try gateway.reload(configuration())
            #expect(event["event"]?.stringValue == "reload_failed")
            #expect(bad.isEmpty || !"\(event)".contains(bad))
        }
        #expect(try gateway.exchange("GET", "/ai").status == 200)
        let seen = upstream.requests.map { $0["Authorization"] }
        #expect(seen == ["Bearer sk-new", "Bearer sk-new"])
    }

    @Test("goes to another server with a retry, and to no place that a redirect names")
    func places() throws {
        let elsewhere = try RecordingUpstream()
        upstream.answer { [port = elsewhere.port] _ in
            .response(307, fields: [("Location", "http://127.0.0.1:\(port)/ai")])
        }
        var configuration = configuration()
        let dead = FreePort.find()
        configuration.upstreams["api"] = """
            servers: ["127.0.0.1:\(dead)", "127.0.0.1:\(upstream.port)"]
            """
        let gateway = try GatewayProcess(configuration)
        for _ in 0..<4 {
            let answer = try gateway.exchange("GET", "/ai")
            #expect(answer.status == 307 && !text(answer).contains(Self.key))
            #expect(answer["Location"] == "http://127.0.0.1:\(elsewhere.port)/ai")
        }
        #expect(upstream.requests.map { $0["Authorization"] }.count == 4)
        #expect(upstream.requests.allSatisfy { $0["Authorization"] == "Bearer " + Self.key })
        #expect(elsewhere.connectionCount == 0)
    }

    @Test("is told to no proxy that asks", arguments: ["nginx", "forward", "envoy", "json"])
    func questions(dialect: String) throws {
        let port = FreePort.find()
        var configuration = configuration()
        configuration.binds = [GatewayConfiguration.checkListener(dialect, port: port)]
        let gateway = try GatewayProcess(configuration)
        let client = try RawClient(port: port)
        let answer: HTTPMessage
        switch dialect {
        case "json":
            let body =
                #"{"method":"GET","target":"/ai","host":"a","client":"127.0.0.1","headers":{}}"#
            answer = try client.exchange("POST", "/check", body: Array(body.utf8))
            #expect(answer.bodyText.contains(#""allow":true"#), "\(answer.bodyText)")
        case "nginx":
            answer = try client.exchange(
                "GET", "/check", fields: [("X-Original-Method", "GET"), ("X-Original-URI", "/ai")])
        case "forward":
            answer = try client.exchange(
                "GET", "/check",
                fields: [
                    ("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/ai"),
                    ("X-Forwarded-Host", "a"),
                ])
        default: answer = try client.exchange("GET", "/check/ai")
        }
        #expect(answer.status == 200 && !text(answer).contains("sk-of"), "\(text(answer))")
        #expect(gateway.alarms.isEmpty)
    }

    @Test("is in nothing that the gateway or its commands say")
    func silence() throws {
        let gateway = try GatewayProcess(configuration())
        for target in ["/ai", "/proved", "/other"] { _ = try gateway.exchange("GET", target) }
        upstream.stop()
        _ = try gateway.exchange("GET", "/ai")
        var said = try ["/", "/status.json", "/metrics", "/refusals.json"].map { target in
            let page = try gateway.admin(target)
            #expect(page.status == 200, "\(target)")
            return text(page)
        }
        let path = gateway.configurationPath
        for words in [
            ["check", "-c", path, "--print"], ["check", "-c", path, "--format", "json"],
            ["route", "-c", path, "GET", "/ai"], ["doctor", "-c", path],
        ] {
            let outcome = try BuiltProgram.run(words)
            said += [outcome.standardOutput, outcome.standardError]
        }
        #expect(said.contains { $0.contains("Bearer ${file:\(directory.path(of: "key"))}") })
        _ = try gateway.accessLines(4)
        said.append(gateway.ending)
        said.append(try gateway.accessLines(4).map { "\($0)" }.joined())
        for words in said { #expect(!words.contains("sk-of")) }
    }

    @Test("is warned of where strangers could use it, read its file, or see it on its way")
    func warnings() throws {
        var configuration = configuration()
        configuration.upstreams["api"] = "servers: [\"ai.example:80\"]"
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o644], ofItemAtPath: directory.path(of: "key"))
        let warned = configuration.text(port: 1, adminPort: 2, directory: directory.path)
        try directory.write(warned, to: "warned.yaml")
        func warnings() throws -> String {
            try BuiltProgram.run(["check", "-c", directory.path(of: "warned.yaml")]).standardError
        }
        let open = try warnings()
        #expect(open.contains("routes[0].attest.mode: off lets any client use the key"))
        #expect(!open.contains("routes[1].attest."))
        #expect(open.contains("routes[1].request_headers: a key goes to ai.example:80 without TLS"))
        #expect(open.contains("key is open to all users: chmod o-rwx"))
        #expect(!open.contains("routes[3].request_headers"))
        try directory.write(
            warned.replacing("ai.example:80", with: "127.0.0.1:80"), to: "warned.yaml")
        #expect(try !warnings().contains("without TLS"))
        let lax = "mode: enforce, on_missing: pass, on_invalid: pass, on_store_failure: pass"
        try directory.write(
            warned.replacing("mode: enforce", with: "\(lax), rollout: 50%"), to: "warned.yaml")
        let passed = try warnings()
        for name in ["on_missing", "on_invalid", "on_store_failure", "rollout"] {
            #expect(
                passed.contains("routes[1].attest.\(name): lets clients without a proof"),
                "\(name): \(passed)")
        }
    }
}
