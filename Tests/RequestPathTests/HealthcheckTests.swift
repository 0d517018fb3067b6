import Foundation
import GatewayTesting
import Testing

@Suite("sallyport healthcheck", .enabled(if: BuiltProgram.isBuilt))
struct HealthcheckTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
    }
}

extension HealthcheckTests {
    /// Asks whoever answers in place of an admin listener.
    private func ask(_ answer: UpstreamAnswer) throws -> ChildProcess.Outcome {
        upstream.answer { _ in answer }
        return try BuiltProgram.run(["healthcheck", "--address", "127.0.0.1:\(upstream.port)"])
    }

    @Test("exits with 0 while the gateway is ready, and with 1 once it is gone")
    func ready() throws {
        let socketPath = directory.path(of: "admin")
        let gateway = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
        try gateway.waitForReadiness(200)
        let asked = ["healthcheck", "-c", gateway.configurationPath]
        let ready = try BuiltProgram.run(asked)
        #expect(ready.status == .exited(0))
        #expect(ready.standardOutput == "ready\n")
        #expect(ready.standardError.isEmpty)
        // The same by another file, whose listener is no network's.
        let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
            .replacing("admin: { bind: 127.0.0.1:\(gateway.adminPort) }", with: "")
        let moved = text + "admin: { bind: \"unix:\(socketPath)\" }\n"
        try gateway.reload(text: moved)
        #expect(try BuiltProgram.run(asked).standardOutput == "ready\n")
        try gateway.kill()
        let gone = try BuiltProgram.run(asked)
        #expect(gone.status == .exited(1))
        #expect(gone.standardError == "sallyport: unix:\(socketPath): connection refused\n")
    }

    @Test("asks at admin.probes if there is such a listener, and nowhere else")
    func probes() throws {
        let socketPath = directory.path(of: "probes")
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.probes = "unix:\(socketPath)"
        let gateway = try GatewayProcess(configuration)
        try gateway.waitForReadiness(200)
        #expect(
            try BuiltProgram.run(["healthcheck", "-c", gateway.configurationPath]).standardOutput
                == "ready\n")
        // The same gateway, by a file that names another address for operators: nobody asks there.
        let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        let elsewhere = text.replacing(":\(gateway.adminPort),", with: ":\(upstream.port),")
        #expect(elsewhere != text)
        let path = try directory.write(elsewhere, to: "elsewhere.yaml")
        #expect(try BuiltProgram.run(["healthcheck", "-c", path]).standardOutput == "ready\n")
        #expect(upstream.requests.isEmpty)
        try gateway.terminate()
        let gone = try BuiltProgram.run(["healthcheck", "-c", gateway.configurationPath])
        #expect(gone.status == .exited(1))
        #expect(gone.standardError.hasPrefix("sallyport: unix:\(socketPath): "))
    }

    @Test("finds a gateway that is bound to every address")
    func wildcard() throws {
        for host in ["0.0.0.0", "127.0.0.1"] {
            upstream.answer { _ in .response(body: "ready\n").followed(by: .dies) }
            let outcome = try BuiltProgram.run(
                ["healthcheck", "--address", "\(host):\(upstream.port)"])
            #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        }
        let request = try #require(upstream.requests.first)
        #expect(request.method == "GET")
        #expect(request.target == "/readyz")
    }

    @Test("says in a line that a terminal can show why the gateway is not ready, and exits with 1")
    func unready() throws {
        let place = "sallyport: 127.0.0.1:\(upstream.port): "
        func end(_ answer: UpstreamAnswer) -> UpstreamAnswer { answer.followed(by: .dies) }
        for (answer, words) in [
            (.response(503, body: "unavailable: redis\n"), "503 unavailable: redis"),
            (.response(404, body: "a\u{1B}[2Jb\rc\nd\n"), "404 a[2Jbc"),
            (.response(200, body: ""), nil),
            (.raw("SSH-2.0-OpenSSH\r\n"), "the answer is not one of an admin listener"),
            (.raw("HTTP/1.1 200 OK\r\n"), "the answer is not one of an admin listener"),
            (.dies, "the answer is not one of an admin listener"),
            (.response(503, body: String(repeating: "x", count: 20_000)), "larger than 16384"),
        ] as [(UpstreamAnswer, String?)] {
            let outcome = try ask(end(answer))
            #expect(outcome.status == .exited(words == nil ? 0 : 1))
            guard let words else { continue }
            #expect(outcome.standardError.hasPrefix(place + words), "\(outcome.standardError)")
            #expect(outcome.standardOutput.isEmpty)
        }
    }

    @Test("exits with 78 if the configuration does not say where to ask, and with 2 on wrong usage")
    func nowhere() throws {
        let whole = GatewayConfiguration(upstreamPort: upstream.port)
            .text(port: 1, adminPort: 0, directory: directory.path)
        for (text, words) in [
            (whole, "port 0 is any free port"),
            (
                whole.replacing(
                    "admin: { bind: 127.0.0.1:0 }",
                    with: "admin: { bind: \"127.0.0.1:2\", probes: { bind: \"127.0.0.1:0\" } }"),
                "admin.probes.bind: port 0 is any free port"
            ),
            (whole.replacing("admin: { bind: 127.0.0.1:0 }", with: ""), "admin is missing"),
            ("nonsense: 1\n", "nonsense"),
        ] {
            let path = try directory.write(text, to: "asked.yaml")
            let outcome = try BuiltProgram.run(["healthcheck", "-c", path])
            #expect(outcome.status == .exited(78))
            #expect(outcome.standardError.contains(words), "\(outcome.standardError)")
        }
        for words in [
            ["--address", "nowhere"], ["--address", "127.0.0.1:0"], ["more"],
            ["-c", "x", "--address", "127.0.0.1:1"],
        ] {
            #expect(try BuiltProgram.run(["healthcheck"] + words).status == .exited(2), "\(words)")
        }
    }
}

@Suite(
    "The default configuration",
    .enabled(if: BuiltProgram.isBuilt && HiddenEtc.isPossible, "unshare makes no namespace here"))
struct DefaultConfigurationTests {}

extension DefaultConfigurationTests {
    @Test("is /etc/sallyport/sallyport.yaml for every command that is given none")
    func place() throws {
        let directory = try ScratchDirectory()
        let text = GatewayConfiguration(upstreamPort: 1)
            .text(port: 1, adminPort: 2, directory: directory.path)
        let path = try directory.write(text, to: "default.yaml")
        let checked = try HiddenEtc.run(["check"], configuration: path)
        #expect(checked.status == .exited(0), "\(checked.standardError)")
        #expect(checked.standardOutput == "/etc/sallyport/sallyport.yaml: ok\n")
        let route = try HiddenEtc.run(["route", "GET", "/x"], configuration: path)
        #expect(route.standardOutput.contains("127.0.0.1:1:"))
        let asked = try HiddenEtc.run(["healthcheck"], configuration: path)
        #expect(asked.standardError == "sallyport: 127.0.0.1:2: connection refused\n")
    }

    @Test("names itself where it is not there")
    func absence() throws {
        let outcome = try HiddenEtc.run(["check"], configuration: nil)
        #expect(outcome.status == .exited(2))
        #expect(
            outcome.standardError.hasPrefix(
                "-c FILE is missing, and /etc/sallyport/sallyport.yaml: no such file"))
    }

    @Test(
        "that may not be read is named, with the user and what to do", .enabled(if: getuid() == 0))
    func unreadable() throws {
        let directory = try ScratchDirectory()
        let path = try directory.write("workers: 1\n", to: "closed.yaml")
        for command in ["check", "run", "doctor", "healthcheck"] {
            let outcome = try HiddenEtc.run([command], configuration: path, asUser: 65_532)
            let words =
                "/etc/sallyport/sallyport.yaml: cannot be read: permission denied to uid 65532: "
                + "let this user read it, or run as another"
            let told = outcome.standardError + outcome.standardOutput
            #expect(told.contains(words) && !told.contains("usage"), "\(command): \(told)")
            #expect(outcome.status == .exited(78), "\(command)")
        }
    }
}

/// A namespace whose `/etc` holds a configuration and nothing else.
private enum HiddenEtc {
    static let isPossible =
        (try? ChildProcess.run("unshare", ["--map-root-user", "--mount", "true"]).status)
        == .exited(0)

    /// `user`: whose rights the program has, in place of the owner's of the configuration.
    static func run(
        _ arguments: [String], configuration: String?, asUser user: Int? = nil
    ) throws -> ChildProcess.Outcome {
        let script = """
            mount -t tmpfs none /etc
            if [ -n "$1" ]; then
                mkdir /etc/sallyport
                cp "$1" /etc/sallyport/sallyport.yaml
                chmod 600 /etc/sallyport/sallyport.yaml
            fi
            shift
            exec "$@"
            """
        let rights = user.map { ["setpriv", "--reuid=\($0)", "--regid=\($0)", "--clear-groups"] }
        // Only root itself may become another user.
        let names = user == nil ? ["--map-root-user"] : []
        return try ChildProcess.run(
            "unshare",
            names + ["--mount", "sh", "-ec", script, "sh", configuration ?? ""]
                + (rights ?? []) + [BuiltProgram.sallyport] + arguments)
    }
}
