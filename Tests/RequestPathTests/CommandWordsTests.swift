import AppAttestTesting
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("What commands say, and what they leave unsaid", .enabled(if: BuiltProgram.isBuilt))
struct CommandWordsTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
    }
}

extension CommandWordsTests {
    @Test("the warnings of a configuration are for run, check and doctor, not for every command")
    func warnings() throws {
        // It has a warning: extra roots.
        let gateway = try GatewayProcess(
            .enforcing(upstreamPort: upstream.port), directory: directory)
        _ = try SimulatedClient.enrolled(gateway)
        for words in [
            ["keys", "list"], ["audit"], ["rollout", "show"], ["route", "GET", "/api/x"],
        ] {
            let outcome = try BuiltProgram.run(words + ["-c", gateway.configurationPath])
            #expect(outcome.status == .exited(0))
            #expect(outcome.standardError.isEmpty, "\(words) \(outcome.standardError)")
        }
        for command in ["check", "doctor"] {
            let outcome = try BuiltProgram.run([command, "-c", gateway.configurationPath])
            #expect(outcome.standardError.contains("THE HOLDER OF THE KEY OF AN EXTRA ROOT"))
        }
        #expect(
            gateway.current.text(on: .standardError).contains(
                "THE HOLDER OF THE KEY OF AN EXTRA ROOT"))
    }

    @Test("doctor --json says in JSON that the configuration is missing or wrong")
    func doctor() throws {
        let wrong = try directory.write("routes: x\nnonsense: 1\n", to: "wrong.yaml")
        for path in [directory.path(of: "none.yaml"), wrong] {
            let outcome = try BuiltProgram.run(["doctor", "--json", "-c", path])
            #expect(outcome.status == .exited(78))
            #expect(outcome.standardError.isEmpty)
            let lines = outcome.standardOutput.split(separator: "\n")
            #expect(!lines.isEmpty)
            for line in lines {
                let object = try JSONValue.parse(String(line))
                #expect(object["check"]?.stringValue == "configuration")
                #expect(object["verdict"]?.stringValue == "failure")
                #expect(object["text"]?.stringValue?.hasPrefix(path) == true)
            }
        }
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.extraRootPaths = [TestApple.rootPath]
        let path = try directory.write(
            configuration.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "right.yaml")
        let outcome = try BuiltProgram.run(["doctor", "--json", "-c", path])
        #expect(outcome.standardError.isEmpty)
        #expect(outcome.standardOutput.contains("THE HOLDER OF THE KEY OF"))
    }

    @Test("a developer token that no route takes is made with a clear warning")
    func developerToken() throws {
        let path = try directory.write(
            GatewayConfiguration.enforcing(upstreamPort: upstream.port)
                .text(port: 1, adminPort: 2, directory: directory.path), to: "token.yaml")
        let outcome = try BuiltProgram.run(
            ["developer-token", "-c", path, "--name", "ci", "--ttl", "1h"])
        #expect(outcome.status == .exited(0))
        #expect(
            outcome.standardError.contains(
                "warning: this token opens nothing: no route's attest.accept names developer\n"),
            "\(outcome.standardError)")
        let help = try BuiltProgram.run(["developer-token", "--help"]).standardOutput
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= 100 })
        #expect(help.contains("Send it in the header of session tokens."))
    }

    @Test("an export beside a gateway with embedded counters says that it goes on")
    func export() throws {
        let gateway = try GatewayProcess(
            .enforcing(upstreamPort: upstream.port), directory: directory)
        _ = try SimulatedClient.enrolled(gateway)
        func export() throws -> ChildProcess.Outcome {
            let outcome = try BuiltProgram.run(["keys", "export", "-c", gateway.configurationPath])
            #expect(outcome.status == .exited(0))
            #expect(outcome.standardOutput.split(separator: "\n").count == 1)
            return outcome
        }
        let words = "(process \(gateway.current.processID)) goes on, and what it accepts"
        #expect(try export().standardError.contains(words))
        try gateway.terminate()
        #expect(try export().standardError.isEmpty)
    }

    @Test("route names the listeners that answer proxies, and ports that the URL does not mean")
    func route() throws {
        let text = GatewayConfiguration.enforcing(upstreamPort: 9)
            .text(port: 8080, adminPort: 8081, directory: directory.path)
        let check = """
              - bind: 127.0.0.1:8082
                check: { dialect: nginx, from: [127.0.0.1] }
              - bind: 127.0.0.1:8083
                check: { dialect: envoy, from: [127.0.0.1] }

            """
        let path = try directory.write(
            text.replacing("apps:\n", with: check + "apps:\n"), to: "route.yaml")
        func ask(_ words: String...) throws -> String {
            try BuiltProgram.run(["route", "-c", path, "GET"] + words).standardOutput
        }
        let plain = try ask("http://a.org/api/x")
        #expect(plain.contains("asks as nginx at /check, and forwards nothing"), "\(plain)")
        #expect(plain.contains("asks as envoy behind the prefix /check, and forwards nothing"))
        #expect(!plain.contains("another port"))
        let ported = try ask("http://a.org:8082/api/x").split(separator: "127.0.0.1:")
        #expect(ported.map { $0.contains("another port than the URL's") } == [true, false, true])
        let objects = try ask("http://[::1]:8080/api/x", "--json").split(separator: "\n").map {
            try JSONValue.parse(String($0))
        }
        #expect(objects.map { $0["check_dialect"]?.stringValue } == [nil, "nginx", "envoy"])
        #expect(objects.map { $0["port_matches"]?.boolValue } == [true, false, false])
    }

    @Test("route knows the place where a proxy asks a check listener")
    func routeQuestions() throws {
        func ask(_ dialect: String, _ method: String, _ target: String) throws -> JSONValue {
            var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
            configuration.listenerMore = [
                "protocols: [h2, http/1.1]", "check: { dialect: \(dialect), from: [127.0.0.1] }",
            ]
            let path = try directory.write(
                configuration.text(port: 1, adminPort: 2, directory: directory.path),
                to: "questions.yaml")
            let told = try BuiltProgram.run(["route", "-c", path, method, target, "--json"])
            return try JSONValue.parse(told.standardOutput)
        }
        for (dialect, method, target, result) in [
            ("json", "POST", "/check", "answered_by_gateway"),
            ("json", "POST", "http://a.org/check?x=1", "answered_by_gateway"),
            ("json", "GET", "/check", "refused"), ("json", "POST", "/check/", "route"),
            ("json", "POST", "/api/x", "route"), ("nginx", "GET", "/check", "answered_by_gateway"),
            ("forward", "GET", "/checked", "route"), ("envoy", "GET", "/check", "route"),
            ("envoy", "GET", "/check/api/x", "answered_by_gateway"),
            (
                "envoy_grpc", "POST", "/envoy.service.auth.v3.Authorization/Check",
                "answered_by_gateway"
            ),
        ] {
            let told = try ask(dialect, method, target)
            #expect(told["result"]?.stringValue == result, "\(dialect) \(method) \(target)")
            let isOwn = "\(told["lines"] ?? .null)".contains("check endpoint, where a proxy asks")
            #expect(isOwn == (result == "answered_by_gateway"), "\(dialect) \(target)")
        }
    }

    @Test("route says what is wrong with its words, not with a request that nobody meant")
    func routeWords() throws {
        let path = try directory.write(
            GatewayConfiguration.enforcing(upstreamPort: upstream.port)
                .text(port: 1, adminPort: 2, directory: directory.path), to: "words.yaml")
        let order = "write METHOD URL, such as GET https://"
        for (words, message) in [
            (["https://a.org/api/x", "GET"], order), (["/api/x", "POST"], order),
            (["GET", "post"], order), (["get", "/api/x"], "methods are upper case: GET\n"),
        ] {
            let outcome = try BuiltProgram.run(["route", "-c", path] + words)
            #expect(outcome.status == .exited(2))
            #expect(outcome.standardError.hasPrefix(message), "\(outcome.standardError)")
            #expect(outcome.standardOutput.isEmpty)
        }
        let own = try BuiltProgram.run(["route", "-c", path, "purge", "/api/x"])
        #expect(own.status == .exited(0) && !own.standardOutput.isEmpty)
    }

    @Test("doctor does not ask an upstream that proxies forward to", arguments: [true, false])
    func unasked(isAsked: Bool) throws {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: FreePort.find())
        configuration.listenerMore = ["check: { dialect: nginx, from: [127.0.0.1] }"]
        if isAsked { configuration.binds.append("127.0.0.1:\(FreePort.find())") }
        let path = try directory.write(
            configuration.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "proxied.yaml")
        let told = try BuiltProgram.run(["doctor", "-c", path]).standardOutput
        let line = "ok    upstream api: not asked, because proxies forward\n"
        #expect(told.contains(line) != isAsked, "\(told)")
        #expect(told.contains("FAIL  upstream api") == isAsked)
    }

    @Test("a trial does not blame the client for a gateway or a client that is not there")
    func trial() throws {
        func end(_ gateway: String) throws -> ChildProcess.Outcome {
            let outcome = try ChildProcess.run(
                BuiltProgram.lab, ["trial", "--gateway", gateway, "--seconds", "0"])
            #expect(outcome.status == .exited(1))
            return outcome
        }
        let port = FreePort.find()
        let missing = try end("127.0.0.1:\(port)")
        #expect(missing.standardError.contains("the gateway 127.0.0.1:\(port) does not answer: "))
        #expect(missing.standardOutput.isEmpty)
        let secure = try end("https://127.0.0.1:\(port)")
        #expect(secure.standardError.contains("write HOST:PORT, without https://"))
        let unvisited = try end("127.0.0.1:\(upstream.port)")
        let words = "no act was reached: no client came to 127.0.0.1:"
        #expect(unvisited.standardError.contains(words), "\(unvisited.standardError)")
        #expect(!unvisited.standardError.contains("mistakes"))
    }

    @Test("the lab's root says which setting takes the root of receipts")
    func labRoot() throws {
        let help = try ChildProcess.run(BuiltProgram.lab, ["root", "--help"])
        #expect(
            help.standardOutput.contains(
                "--receipt-root-pem FILE  the root of receipts, for trust.extra_roots too"),
            "\(help.standardOutput)\(help.standardError)")
    }
}
