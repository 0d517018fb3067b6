import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("A gateway's life", .enabled(if: BuiltProgram.isBuilt))
struct LifecycleTests {
    private let upstream: RecordingUpstream

    init() throws { upstream = try RecordingUpstream() }
}

extension LifecycleTests {
    @Test("SIGTERM: what has begun is finished, nothing new begins, exit 0")
    func drain() throws {
        let gate = Gate()
        upstream.answer { _ in .response(after: gate) }
        let gateway = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
        let idle = try gateway.connect()
        let busy = try gateway.connect()
        try busy.send("GET", "/")
        try upstream.waitForRequests(1)
        gateway.current.terminate()
        try gateway.waitForEvent("draining")
        #expect(try idle.receiveToEnd().isEmpty)
        gate.open()
        let answer = try busy.receive()
        #expect(answer.status == 200)
        #expect(try busy.receiveToEnd().isEmpty)
        #expect(try gateway.current.waitForExit() == .exited(0))
        #expect(throws: RawSocketError.self) { try gateway.connect() }
        #expect(gateway.alarms.isEmpty)
    }

    @Test("SIGTERM with timeouts.drain_delay: everything is served, and only /readyz says no")
    func drainDelay() throws {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = ["timeouts: { drain_delay: 1h }"]
        let gateway = try GatewayProcess(configuration)
        let kept = try gateway.connect()
        try gateway.waitForReadiness(200)
        gateway.current.terminate()
        try gateway.waitForEvent("stopping")
        let unready = try gateway.admin("/readyz")
        #expect(unready.status == 503)
        #expect(unready.bodyText == "draining\n")
        #expect(try gateway.admin("/livez").status == 200)
        for _ in 0..<3 {
            let answer = try kept.exchange("GET", "/")
            #expect(answer.status == 200)
            #expect(answer["Connection"] == nil)
            #expect(try gateway.exchange("GET", "/").status == 200)
        }
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reload_failed")
        // Whoever says it twice does not want to wait.
        gateway.current.terminate()
        try gateway.waitForEvent("draining")
        #expect(try kept.receiveToEnd().isEmpty)
        #expect(try gateway.current.waitForExit() == .exited(0))
        #expect(gateway.alarms.isEmpty)
    }

    @Test("SIGTERM: the drain begins when timeouts.drain_delay is over")
    func shortDrainDelay() throws {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = ["timeouts: { drain_delay: 10ms }"]
        let gateway = try GatewayProcess(configuration)
        #expect(try gateway.terminate() == .exited(0))
        let events = gateway.current.lines(on: .standardError).compactMap { line in
            try? JSONValue.parse(line)["event"]?.stringValue
        }
        #expect(events.suffix(4) == ["stopping", "draining", "stopped", "counters_kept"])
    }

    @Test("SIGTERM: the drain ends by its timeout")
    func drainTimeout() throws {
        let gate = Gate()
        upstream.answer { _ in .response(after: gate) }
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = ["timeouts: { drain: 200ms }"]
        let gateway = try GatewayProcess(configuration)
        let busy = try gateway.connect()
        try busy.send("GET", "/")
        try upstream.waitForRequests(1)
        #expect(try gateway.terminate() == .exited(0))
        gate.open()
        let line = try gateway.accessLine()
        #expect(line["reason"]?.stringValue == "client_closed")
        #expect(line["detail"]?.stringValue == "drain_timeout")
    }

    @Test("SIGHUP after SIGTERM: no listener opens, and what has begun is finished")
    func reloadWhileDraining() throws {
        let gate = Gate()
        upstream.answer { _ in .response(after: gate) }
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        let gateway = try GatewayProcess(configuration)
        let busy = try gateway.connect()
        try busy.send("GET", "/")
        try upstream.waitForRequests(1)
        gateway.current.terminate()
        try gateway.waitForEvent("draining")
        let port = FreePort.find()
        configuration.binds = ["127.0.0.1:\(port)"]
        let event = try gateway.reload(configuration)
        #expect(event["event"]?.stringValue == "reload_failed")
        #expect(event["message"]?.stringValue?.contains("stopping") == true)
        #expect(throws: RawSocketError.self) { try RawClient(port: port) }
        gate.open()
        #expect(try busy.receive().status == 200)
        #expect(try gateway.current.waitForExit() == .exited(0))
    }

    @Test("SIGHUP: the whole new configuration, with requests in flight unharmed")
    func reload() throws {
        let gate = Gate()
        upstream.answer { $0.target == "/slow" ? .response(after: gate) : .response(body: "old") }
        let other = try RecordingUpstream { _ in .response(body: "new") }
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        let gateway = try GatewayProcess(configuration)
        let kept = try gateway.connect()
        #expect(try kept.exchange("GET", "/").bodyText == "old")
        let busy = try gateway.connect()
        try busy.send("GET", "/slow")
        try upstream.waitForRequests(2)
        configuration.upstreams["api"] = "servers: [\"127.0.0.1:\(other.port)\"]"
        configuration.routes = [.init("guarded", path: "/g/*", attest: "mode: enforce")]
        configuration.routes.append(.init("rest", path: "/*"))
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        #expect(try kept.exchange("GET", "/").bodyText == "new")
        #expect(try gateway.exchange("GET", "/g/x").status == 401)
        gate.open()
        #expect(try busy.receive().bodyText == "hello\n")
    }

    @Test("SIGHUP: an address moves between the app and the admin listener", arguments: [1, 3])
    func movedAddress(workers: Int) throws {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.workers = workers
        let gateway = try GatewayProcess(configuration)
        let (first, second) = (gateway.port, gateway.adminPort)
        let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        let swapped = text.replacing(":\(first)\n", with: ":PORT\n")
            .replacing(":\(second) }", with: ":\(first) }")
            .replacing(":PORT\n", with: ":\(second)\n")
        for (text, app, admin) in [(swapped, second, first), (text, first, second)] {
            #expect(try gateway.reload(text: text)["event"]?.stringValue == "reloaded")
            try waitUntilAll(16, at: app) { $0.bodyText == "hello\n" }
            try waitUntilAll(16, at: admin) { $0.bodyText != "hello\n" && $0.status == 200 }
        }
    }

    @Test("the file of a unix socket goes with its listener, unless another has taken its name")
    func socketFile() throws {
        let directory = try ScratchDirectory()
        let paths = ["kept", "dropped", "taken"].map { directory.path(of: $0) }
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.binds = paths.map { "unix:" + $0 }
        let gateway = try GatewayProcess(configuration, directory: directory)
        func exists() -> [Bool] { paths.map { FileManager.default.fileExists(atPath: $0) } }
        #expect(exists() == [true, true, true])
        // Whatever the umask is, another user's proxy may connect.
        let mode = try FileManager.default.attributesOfItem(atPath: paths[0])[.posixPermissions]
        #expect(mode as? Int == 0o666)
        configuration.binds.remove(at: 1)
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        #expect(exists() == [true, false, true])
        try FileManager.default.removeItem(atPath: paths[2])
        let other = try ChildProcess(
            PythonInterpreter.debian.path,
            ["-c", "import socket, sys; socket.socket(1).bind(sys.argv[1])", paths[2]])
        #expect(try other.waitForExit() == .exited(0))
        #expect(try gateway.terminate() == .exited(0))
        #expect(exists() == [false, false, true])
    }

    @Test("SIGHUP: a unix socket whose file was removed is there again", arguments: [1, 2])
    func lostSocketFile(workers: Int) throws {
        let directory = try ScratchDirectory()
        let path = directory.path(of: "api.sock")
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.workers = workers
        configuration.binds = ["unix:" + path]
        let gateway = try GatewayProcess(configuration, directory: directory)
        func status() throws -> String {
            let curl = try ChildProcess.run(
                "curl",
                [
                    "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", path,
                    "http://a/",
                ])
            return curl.standardOutput
        }
        #expect(try status() == "200")
        let openCount = try gateway.fileDescriptorCount()
        for _ in 0..<3 {
            try FileManager.default.removeItem(atPath: path)
            #expect(try status() == "000")
            #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
            for _ in 0..<4 { #expect(try status() == "200") }
        }
        // The sockets that nobody finds any more are closed.
        #expect(try gateway.fileDescriptorCount() <= openCount + 2)
    }

    @Test("SIGHUP: a unix socket that would move between the two is refused, and all stays")
    func movedSocket() throws {
        let directory = try ScratchDirectory()
        let path = directory.path(of: "api.sock")
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.binds = ["unix:" + path]
        let gateway = try GatewayProcess(configuration, directory: directory)
        let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        let event = try gateway.reload(
            text: text.replacing("  - bind: unix:\(path)\n", with: "")
                .replacing("127.0.0.1:\(gateway.adminPort)", with: "unix:\(path)"))
        #expect(event["event"]?.stringValue == "reload_failed")
        #expect(event["message"]?.stringValue?.contains(path) == true)
        #expect(try gateway.admin("/livez").status == 200)
        #expect(try gateway.exchange("GET", "/").status == 200)
    }

    @Test("SIGHUP again and again: no connection is refused, no request fails", arguments: [1, 3])
    func reloadsUnderLoad(workers: Int) throws {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.workers = workers
        let gateway = try GatewayProcess(configuration)
        var other = configuration
        other.routes.insert(.init("extra", path: "/extra/*"), at: 0)
        let loads = (0..<4).map { ConstantLoad(port: gateway.port, keepsConnection: $0 % 2 == 0) }
        for load in loads { load.start() }
        for round in 0..<20 {
            let event = try gateway.reload(round % 2 == 0 ? other : configuration)
            #expect(event["event"]?.stringValue == "reloaded")
        }
        for load in loads {
            let outcome = load.stop()
            #expect(outcome.failures.isEmpty, "\(outcome.failures.prefix(3))")
            #expect(outcome.count > 0)
        }
        #expect(gateway.alarms.isEmpty)
    }

    /// The sockets of the address before close when their worker comes to it.
    private func waitUntilAll(
        _ count: Int, at port: UInt16, are isRight: (HTTPMessage) -> Bool
    ) throws {
        let limit = ChildProcess.deadline
        var rightCount = 0
        while rightCount < count {
            let answer = try? RawClient(port: port).exchange("GET", "/livez")
            rightCount = answer.map(isRight) == true ? rightCount + 1 : 0
            guard Date() < limit else {
                Issue.record("port \(port) is not served as it should be")
                return
            }
        }
    }

    @Test("SIGHUP: a configuration with an error changes nothing and is named")
    func badReload() throws {
        let gateway = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
        for text in ["listeners: [", "nonsense: 1\n", "", "\u{0}\u{1}"] {
            let event = try gateway.reload(text: text)
            #expect(event["event"]?.stringValue == "reload_failed")
            #expect(event["level"]?.stringValue == "error")
            #expect(try gateway.exchange("GET", "/").status == 200)
        }
    }

    @Test("SIGHUP: a reload that is refused has made no file, neither secrets nor a registry")
    func refusedReloadLeavesNothing() throws {
        let directory = try ScratchDirectory()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        let keys = directory.path(of: "keys")
        try directory.write(Data(repeating: 7, count: 32).base64EncodedString(), to: "keys")
        configuration.more = ["secrets: { challenge_key_file: \(keys) }"]
        let gateway = try GatewayProcess(configuration, directory: directory)
        func names() throws -> Set<String> {
            Set(try FileManager.default.contentsOfDirectory(atPath: directory.path))
        }
        let before = try names()
        var other = configuration
        other.more = []
        other.registryPath = directory.path(of: "other.db")
        let fixed = try gateway.reload(other)
        #expect(fixed["event"]?.stringValue == "reload_failed")
        #expect(
            fixed["message"]?.stringValue?.contains("registry cannot change without a restart")
                == true)
        #expect(try names() == before)
        // The same registry, but a secret of its own that is not there.
        other.registryPath = nil
        let secret = try gateway.reload(other)
        #expect(secret["event"]?.stringValue == "reload_failed")
        #expect(
            secret["message"]?.stringValue?.contains("registry.db.challenge-key is missing")
                == true)
        #expect(try names() == before)
        let page = try JSONValue.parse(try gateway.admin("/status.json").bodyText)
        let problem = page["problems"]?.arrayValue?.first {
            $0["name"]?.stringValue == "reload_failed"
        }
        #expect("\(try #require(problem))".contains("Restart the gateway"))
        #expect(try gateway.exchange("GET", "/").status == 200)
    }

    @Test("a start tells the version and how much of it there is")
    func started() throws {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.workers = 2
        configuration.binds = ["127.0.0.1:\(FreePort.find())"]
        let gateway = try GatewayProcess(configuration)
        let event = try gateway.waitForEvent("started")
        let version = try BuiltProgram.run(["version"]).standardOutput.dropLast()
        #expect(
            event["message"]?.stringValue == "\(version): 2 workers, 2 listeners, admin listener")
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
    }

    @Test("a start that runs out of descriptors fails as a whole, or nothing is missing")
    func fewDescriptors() throws {
        let directory = try ScratchDirectory()
        let text = """
            workers: 4
            listeners: [{ bind: "127.0.0.1:\(FreePort.find())" }]
            registry: { sqlite: \(directory.path)/registry.db }
            upstreams: { api: { servers: ["127.0.0.1:\(upstream.port)"] } }
            routes: [{ name: all, path: /*, upstream: api, attest: { mode: "off" } }]

            """
        let path = try directory.write(text, to: "sallyport.yaml")
        for limit in 12... {
            let process = try ChildProcess(
                "prlimit",
                ["--nofile=\(limit)", BuiltProgram.sallyport, "run", "-c", path])
            let first = try process.waitForLine(on: .standardError) {
                $0.hasPrefix("sallyport: ") || $0.contains(#""event":"ready""#)
            }
            if first.hasPrefix("sallyport: ") {
                #expect(try process.waitForExit() == .exited(1), "\(limit): \(first)")
                continue
            }
            process.terminate()
            #expect(try process.waitForExit() == .exited(0), "\(limit)")
            let errors = process.lines(on: .standardError).filter { $0.contains(#""error""#) }
            #expect(errors.isEmpty, "\(limit) \(errors)")
            break
        }
    }

    @Test("after a clean restart keys are known and nothing is accepted again")
    func cleanRestart() throws {
        try restart { try $0.terminate() }
    }

    @Test("after kill -9 keys are known and nothing is accepted again")
    func killed() throws {
        try restart { try $0.kill() }
    }

    private func restart(_ stop: (GatewayProcess) throws -> Void) throws {
        let gateway = try GatewayProcess(.enforcing(upstreamPort: upstream.port))
        let client = try SimulatedClient.enrolled(gateway)
        let accepted = try client.signature("GET", "/api/x")
        #expect(try client.raw.exchange("GET", "/api/x", fields: accepted).status == 200)
        let unused = try client.signature("GET", "/api/x")
        try stop(gateway)
        try gateway.start()
        try client.connect()
        let again = try client.raw.exchange("GET", "/api/x", fields: accepted)
        #expect(again.status == 401)
        #expect(["assertion_replayed", "challenge_expired"].contains(again.code))
        #expect(again.action == "sign_again")
        // A challenge from before may be taken or not; signing again with the next one must do.
        let late = try client.raw.exchange("GET", "/api/x", fields: unused)
        #expect([200, 401].contains(late.status))
        let next = try #require(again.nextChallenge)
        #expect(try client.request("GET", "/api/x", challenge: next).status == 200)
        #expect(upstream.requests.count == (late.status == 200 ? 3 : 2))
        #expect(gateway.alarms.isEmpty)
    }

    @Test("an enrolment that was answered survives kill -9 at once")
    func durableEnrolment() throws {
        let gateway = try GatewayProcess(.enforcing(upstreamPort: upstream.port))
        for _ in 0..<3 {
            let client = try SimulatedClient(gateway)
            #expect(try client.enrol().status == 200)
            try gateway.restart(byKill: true)
            try client.connect()
            #expect(try client.request("GET", "/api/x").status == 200)
        }
    }

    @Test("several workers share the address, the keys and the counters")
    func workers() throws {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.workers = 4
        let gateway = try GatewayProcess(configuration)
        let client = try SimulatedClient.enrolled(gateway)
        // Each connection lands on some worker.
        for _ in 0..<12 {
            let fields = try client.signature("GET", "/api/x")
            try client.connect()
            #expect(try client.raw.exchange("GET", "/api/x", fields: fields).status == 200)
            try client.connect()
            let again = try client.raw.exchange("GET", "/api/x", fields: fields)
            #expect(again.outcome == "401 assertion_replayed")
        }
    }
}
