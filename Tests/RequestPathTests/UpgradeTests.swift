import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("SIGUSR2", .enabled(if: BuiltProgram.isBuilt))
struct UpgradeTests {
    private let upstream: RecordingUpstream

    init() throws { upstream = try RecordingUpstream { _ in .response(body: "hello") } }

    /// Sends the signal; returns when the program that took over is ready.
    private func upgrade(_ gateway: GatewayProcess) throws {
        let index = gateway.current.lines(on: .standardError).count
        gateway.current.send(signal: SIGUSR2)
        try gateway.waitForEvent("ready", from: index)
    }

    private func waitUntilConnectionsWait(_ gateway: GatewayProcess, from index: Int) throws {
        try gateway.current.waitForLine(
            on: .standardError, from: index, containing: "new connections wait")
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
        upstream.answer { $0.target == "/slow" ? .response(after: gate) : .response(body: "new") }
        let gateway = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
        let silent = try gateway.connect()
        let busy = try gateway.connect()
        try busy.send("GET", "/slow")
        try upstream.waitForRequests(1)
        let index = gateway.current.lines(on: .standardError).count
        gateway.current.send(signal: SIGUSR2)
        try waitUntilConnectionsWait(gateway, from: index)
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
        upstream.answer { $0.target == "/slow" ? .response(after: gate) : .response(body: "new") }
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = ["timeouts: { upgrade: 100ms }"]
        let gateway = try GatewayProcess(configuration)
        let busy = try gateway.connect()
        try busy.send("GET", "/slow")
        try upstream.waitForRequests(1)
        try upgrade(gateway)
        #expect(try gateway.exchange("GET", "/").bodyText == "new")
        gate.open()
    }

    @Test("takes the new configuration, with other workers and listeners")
    func configuration() throws {
        let directory = try ScratchDirectory()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.workers = 4
        let second = FreePort.find()
        configuration.binds = ["127.0.0.1:\(second)", "unix:" + directory.path(of: "a.sock")]
        let gateway = try GatewayProcess(configuration, directory: directory)
        configuration.workers = 2
        configuration.binds = ["unix:" + directory.path(of: "a.sock")]
        let text = configuration.text(
            port: gateway.port, adminPort: gateway.adminPort, directory: directory.path)
        try directory.write(text, to: "sallyport-\(gateway.port).yaml")
        try upgrade(gateway)
        for _ in 0..<16 { #expect(try gateway.exchange("GET", "/").status == 200) }
        #expect(throws: RawSocketError.self) { try RawClient(port: second) }
        // A reload goes on from there.
        configuration.binds.append("127.0.0.1:\(second)")
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        #expect(try RawClient(port: second).exchange("GET", "/").status == 200)
    }

    @Test("changes nothing where the next program refuses the configuration, or is not there")
    func refusal() throws {
        let directory = try ScratchDirectory()
        let program = directory.path(of: "gateway")
        try FileManager.default.createSymbolicLink(
            atPath: program, withDestinationPath: BuiltProgram.sallyport)
        let gateway = try GatewayProcess(
            GatewayConfiguration(upstreamPort: upstream.port), directory: directory,
            launcher: ["bash", "-c", "exec \(program) \"$@\""])
        let kept = try gateway.connect()
        let good = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        try directory.write("nonsense: 1\n", to: "sallyport-\(gateway.port).yaml")
        try refused(gateway, because: "nonsense")
        try directory.write(good, to: "sallyport-\(gateway.port).yaml")
        try FileManager.default.removeItem(atPath: program)
        try refused(gateway, because: "no such file or directory")
        #expect(try kept.exchange("GET", "/").status == 200)
        #expect(try kept.exchange("GET", "/").status == 200)
        try FileManager.default.createSymbolicLink(
            atPath: program, withDestinationPath: BuiltProgram.sallyport)
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
        upstream.answer { $0.target == "/slow" ? .response(after: gate) : .response(body: "new") }
        let directory = try ScratchDirectory()
        let program = directory.path(of: "gateway")
        try FileManager.default.createSymbolicLink(
            atPath: program, withDestinationPath: BuiltProgram.sallyport)
        let gateway = try GatewayProcess(
            GatewayConfiguration(upstreamPort: upstream.port), directory: directory,
            launcher: ["bash", "-c", "exec \(program) \"$@\""])
        let busy = try gateway.connect()
        try busy.send("GET", "/slow")
        try upstream.waitForRequests(1)
        let index = gateway.current.lines(on: .standardError).count
        gateway.current.send(signal: SIGUSR2)
        try waitUntilConnectionsWait(gateway, from: index)
        try FileManager.default.removeItem(atPath: program)
        let waiting = try gateway.connect()
        try waiting.send("GET", "/new")
        gate.open()
        #expect(try busy.receive().status == 200)
        #expect(try waiting.receive().bodyText == "new")
        try gateway.current.waitForLine(
            on: .standardError, from: index, containing: "no such file or directory; serving on")
        #expect(try gateway.terminate() == .exited(0))
    }

    @Test("SIGTERM meanwhile stops the gateway")
    func stopped() throws {
        let gate = Gate()
        upstream.answer { _ in .response(after: gate) }
        let gateway = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
        let busy = try gateway.connect()
        try busy.send("GET", "/")
        try upstream.waitForRequests(1)
        let index = gateway.current.lines(on: .standardError).count
        gateway.current.send(signal: SIGUSR2)
        try waitUntilConnectionsWait(gateway, from: index)
        gateway.current.terminate()
        try gateway.waitForEvent("draining", from: index)
        gate.open()
        #expect(try busy.receive().status == 200)
        #expect(try gateway.current.waitForExit() == .exited(0))
    }
}
