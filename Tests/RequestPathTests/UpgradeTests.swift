import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("SIGUSR2", .enabled(if: BuiltProgram.isBuilt))
struct UpgradeTests {
    private let upstream: RecordingUpstream

    init() throws { upstream = try RecordingUpstream { _ in .response(body: "hello") } }
}

extension UpgradeTests {
    /// Sends the signal; returns when the program that took over is ready.
    private func upgrade(_ gateway: GatewayProcess) throws {
        let index = gateway.current.lines(on: .standardError).count
        gateway.current.send(signal: SIGUSR2)
        try gateway.waitForEvent("ready", from: index)
    }

    /// Sends the signal; returns, when new connections wait for the next program, from which line
    /// on the events of this upgrade are found.
    private func beginUpgrade(_ gateway: GatewayProcess) throws -> Int {
        let index = gateway.current.lines(on: .standardError).count
        gateway.current.send(signal: SIGUSR2)
        try gateway.current.waitForLine(
            on: .standardError, from: index, containing: "new connections wait")
        return index
    }

    /// A request for what the upstream answers when `gate` opens; anything else it answers at once.
    private func beginSlow(_ gateway: GatewayProcess, until gate: Gate) throws -> RawClient {
        upstream.answer { $0.target == "/slow" ? .response(after: gate) : .response(body: "new") }
        let busy = try gateway.connect()
        try busy.send("GET", "/slow")
        try upstream.waitForRequests(1)
        return busy
    }

    /// A program that can be made to vanish while it runs.
    private struct LinkedProgram {
        let path: String

        init(in directory: ScratchDirectory) throws {
            path = directory.path(of: "gateway")
            try appear()
        }

        /// For ``GatewayProcess``.
        var launcher: [String] { ["bash", "-c", "exec \(path) \"$@\""] }

        func appear() throws {
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: BuiltProgram.sallyport)
        }

        func vanish() throws { try FileManager.default.removeItem(atPath: path) }
    }

    @Test("under load refuses no connection and fails no request", arguments: [1, 3])
    func load(workers: Int) throws {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.workers = workers
        let gateway = try GatewayProcess(configuration)
        let loads = (0..<4).map { ConstantLoad(port: gateway.port, keepsConnection: $0 % 2 == 0) }
        for load in loads { load.start() }
        for _ in 0..<3 { try upgrade(gateway) }
        for load in loads {
            let outcome = load.stop()
            #expect(outcome.failures.isEmpty, "\(outcome.failures.prefix(3))")
            #expect(outcome.count > 0)
        }
        #expect(try gateway.admin("/livez").status == 200)
        #expect(gateway.alarms.isEmpty)
        #expect(try gateway.terminate() == .exited(0))
    }

    @Test("keeps counters, spent challenges and challenges in flight")
    func memory() throws {
        let gateway = try GatewayProcess(.enforcing(upstreamPort: upstream.port))
        let client = try SimulatedClient.enrolled(gateway)
        let accepted = try client.signature("GET", "/api/x")
        #expect(try client.raw.exchange("GET", "/api/x", fields: accepted).status == 200)
        let challenge = try client.challenge()
        try upgrade(gateway)
        try client.connect()
        let again = try client.raw.exchange("GET", "/api/x", fields: accepted)
        #expect(again.outcome == "401 assertion_replayed")
        #expect(try client.request("GET", "/api/x", challenge: challenge).status == 200)
        #expect(upstream.requests.count == 2)
    }

    @Test("lets what is in flight end, and new connections wait for the next program")
    func inFlight() throws {
        let gate = Gate()
        let gateway = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
        let silent = try gateway.connect()
        let busy = try beginSlow(gateway, until: gate)
        _ = try beginUpgrade(gateway)
        let waiting = try gateway.connect()
        try waiting.send("GET", "/new")
        gate.open()
        let answer = try busy.receive()
        #expect(answer.status == 200)
        #expect(answer["Connection"] == "close")
        #expect(try waiting.receive().bodyText == "new")
        #expect(try silent.receiveToEnd().isEmpty)
    }

    @Test("ends what is in flight after timeouts.upgrade")
    func timeout() throws {
        let gate = Gate()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = ["timeouts: { upgrade: 100ms }"]
        let gateway = try GatewayProcess(configuration)
        let busy = try beginSlow(gateway, until: gate)
        try upgrade(gateway)
        #expect(try gateway.exchange("GET", "/").bodyText == "new")
        #expect(try busy.receiveToEnd().isEmpty)
        gate.open()
    }

    @Test("takes the new configuration, with other workers and listeners")
    func configuration() throws {
        let directory = try ScratchDirectory()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.workers = 4
        let second = FreePort.find()
        let gone = directory.path(of: "b.sock")
        configuration.binds = [
            "127.0.0.1:\(second)", "unix:" + directory.path(of: "a.sock"), "unix:" + gone,
        ]
        let gateway = try GatewayProcess(configuration, directory: directory)
        configuration.workers = 2
        configuration.binds = ["unix:" + directory.path(of: "a.sock")]
        let text = configuration.text(
            port: gateway.port, adminPort: gateway.adminPort, directory: directory.path)
        try directory.write(text, to: "sallyport-\(gateway.port).yaml")
        try upgrade(gateway)
        for _ in 0..<16 { #expect(try gateway.exchange("GET", "/").status == 200) }
        #expect(!FileManager.default.fileExists(atPath: gone))
        #expect(throws: RawSocketError.self) { try RawClient(port: second) }
        // A reload goes on from there.
        configuration.binds.append("127.0.0.1:\(second)")
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        #expect(try RawClient(port: second).exchange("GET", "/").status == 200)
    }

    @Test("changes nothing where the next program refuses the configuration, or is not there")
    func refusal() throws {
        let directory = try ScratchDirectory()
        let program = try LinkedProgram(in: directory)
        let gateway = try GatewayProcess(
            GatewayConfiguration(upstreamPort: upstream.port), directory: directory,
            launcher: program.launcher)
        let kept = try gateway.connect()
        let good = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        try directory.write("nonsense: 1\n", to: "sallyport-\(gateway.port).yaml")
        try refused(gateway, because: "nonsense")
        try directory.write(good, to: "sallyport-\(gateway.port).yaml")
        try program.vanish()
        try refused(gateway, because: "no such file or directory")
        #expect(try kept.exchange("GET", "/").status == 200)
        #expect(try kept.exchange("GET", "/").status == 200)
        try program.appear()
        try upgrade(gateway)
        #expect(try gateway.exchange("GET", "/").status == 200)
    }

    private func refused(_ gateway: GatewayProcess, because reason: String) throws {
        let index = gateway.current.lines(on: .standardError).count
        gateway.current.send(signal: SIGUSR2)
        let event = try gateway.waitForEvent("upgrade_failed", from: index)
        #expect(event["message"]?.stringValue?.contains(reason) == true, "\(event)")
    }

    @Test("serves on where the next program cannot be started after all")
    func vanished() throws {
        let gate = Gate()
        let directory = try ScratchDirectory()
        let program = try LinkedProgram(in: directory)
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        // A name, so that there is a thread that resolves it anew.
        configuration.upstreams["api"] = "servers: [\"localhost:\(upstream.port)\"]"
        let socket = directory.path(of: "api.sock")
        configuration.binds = ["unix:" + socket]
        let gateway = try GatewayProcess(
            configuration, directory: directory, launcher: program.launcher)
        let busy = try beginSlow(gateway, until: gate)
        let index = try beginUpgrade(gateway)
        try program.vanish()
        let waiting = try gateway.connect()
        try waiting.send("GET", "/new")
        gate.open()
        #expect(try busy.receive().status == 200)
        #expect(try waiting.receive().bodyText == "new")
        try gateway.current.waitForLine(
            on: .standardError, from: index,
            containing: "no such file or directory; still "
                + "serving")
        // The threads of the gateway that served before end; no event tells.
        try waitWhile(
            StoppedThreads.threads(of: gateway.current).count { $0.name == "resolver" } != 1)
        #expect(try gateway.terminate() == .exited(0))
        #expect(!FileManager.default.fileExists(atPath: socket))
    }

    @Test("the file of a unix socket stays with the next program, which removes it in the end")
    func socketFile() throws {
        let directory = try ScratchDirectory()
        let path = directory.path(of: "api.sock")
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.binds = ["unix:" + path]
        let gateway = try GatewayProcess(configuration, directory: directory)
        for _ in 0..<2 {
            try upgrade(gateway)
            #expect(FileManager.default.fileExists(atPath: path))
        }
        let environment = try SystemText.read("/proc/\(gateway.current.processID)/environ")
        #expect(environment.components(separatedBy: "SALLYPORT_LISTENERS=").count == 2)
        #expect(try gateway.terminate() == .exited(0))
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("SIGTERM meanwhile stops the gateway")
    func stopped() throws {
        let gate = Gate()
        let gateway = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
        let busy = try beginSlow(gateway, until: gate)
        let index = try beginUpgrade(gateway)
        gateway.current.terminate()
        try gateway.waitForEvent("draining", from: index)
        gate.open()
        #expect(try busy.receive().status == 200)
        #expect(try gateway.current.waitForExit() == .exited(0))
    }

    @Test("tries the next configuration also where it was told to forget how programs end")
    func ignoredEndings() throws {
        let script =
            "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
            + " os.execvp(sys.argv[1], sys.argv[1:])"
        let directory = try ScratchDirectory()
        let gateway = try GatewayProcess(
            GatewayConfiguration(upstreamPort: upstream.port), directory: directory,
            launcher: [PythonInterpreter.debian.path, "-c", script])
        try directory.write("listeners: 5\n", to: "sallyport-\(gateway.port).yaml")
        try refused(gateway, because: "exit code 78")
        #expect(try gateway.exchange("GET", "/").status == 200)
    }

    @Test("serves on where this user could not start the next program here")
    func places() throws {
        let directory = try ScratchDirectory()
        let folder = directory.path(of: "logs")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = ["log: { access: \(folder)/access.log }"]
        let gateway = try GatewayProcess(configuration, directory: directory)
        try FileManager.default.removeItem(atPath: folder)
        try refused(gateway, because: "exit code 78")
        #expect(try gateway.exchange("GET", "/").status == 200)
        let check = try BuiltProgram.run(["check", "-c", gateway.configurationPath])
        #expect(check.status == .exited(0) && check.standardError.contains("log.access"))
    }
}
