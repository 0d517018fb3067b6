import Foundation
import GatewayTesting
import Testing

@Suite("A gateway under a service manager", .enabled(if: BuiltProgram.isBuilt))
struct SupervisionTests {
    private let upstream: RecordingUpstream
    private let directory: ScratchDirectory

    init() throws {
        upstream = try RecordingUpstream { _ in .response(body: "hello") }
        directory = try ScratchDirectory()
    }
}

extension SupervisionTests {
    private func gateway(
        _ receiver: NotifyReceiver, watchdogMicroseconds: Int? = nil
    ) throws -> GatewayProcess {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.workers = 2
        let watchdog = watchdogMicroseconds.map { ["WATCHDOG_USEC=\($0)"] } ?? []
        return try GatewayProcess(
            configuration, directory: directory,
            launcher: ["env", "NOTIFY_SOCKET=" + receiver.name] + watchdog)
    }

    @Test("says when it is ready, reloads and stops", arguments: [false, true])
    func states(isAbstract: Bool) throws {
        let path = directory.path(of: "notify")
        let receiver = try NotifyReceiver(
            isAbstract ? "@sallyport-\(UUID().uuidString)" : path)
        let gateway = try gateway(receiver)
        #expect(try receiver.next() == ["READY=1", "STATUS=serving with 2 workers, generation 0"])
        #expect(try gateway.exchange("GET", "/").status == 200)

        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.workers = 2
        try gateway.reload(configuration)
        let reloading = try receiver.next()
        #expect(reloading.first == "RELOADING=1")
        #expect(reloading.contains { $0.hasPrefix("MONOTONIC_USEC=") })
        #expect(try receiver.next() == ["READY=1", "STATUS=serving with 2 workers, generation 1"])

        try gateway.reload(text: "nonsense: 1\n")
        #expect(try receiver.next().first == "RELOADING=1")
        let failed = try receiver.next()
        #expect(failed.first == "READY=1")
        #expect(failed.last?.contains("generation 1; the last reload failed: ") == true)

        #expect(try gateway.terminate() == .exited(0))
        #expect(try receiver.next().first == "STOPPING=1")
        #expect(receiver.waiting() == nil)
    }

    @Test("says that a reload has ended which failed while the next program was asked")
    func reloadDuringCheck() throws {
        let receiver = try NotifyReceiver(directory.path(of: "notify"))
        let gateway = try gateway(receiver)
        #expect(try receiver.next().first == "READY=1")
        try directory.replace("sallyport-\(gateway.port).yaml", with: "nonsense: 1\n")
        gateway.current.send(signal: SIGUSR2)
        try gateway.waitForEvent("upgrading")
        gateway.current.send(signal: SIGHUP)
        try gateway.waitForEvent("reload_failed")
        try receiver.wait(for: "RELOADING=1")
        #expect(try receiver.next().first == "READY=1")
    }

    @Test("keeps the watchdog quiet", arguments: [(100_000, 5), (7_200_000_000, 1)])
    func watchdog(microseconds: Int, beatCount: Int) throws {
        let receiver = try NotifyReceiver(directory.path(of: "notify"))
        let gateway = try gateway(receiver, watchdogMicroseconds: microseconds)
        for _ in 0..<beatCount { try receiver.wait(for: "WATCHDOG=1") }
        #expect(try gateway.terminate() == .exited(0))
    }

    @Test(
        "keeps it quiet while a disk holds the start up",
        .enabled(if: LoopFileSystem.isAllowed(), Comment(rawValue: LoopFileSystem.needs)))
    func slowStart() throws {
        let receiver = try NotifyReceiver(directory.path(of: "notify"))
        let disk = try LoopFileSystem()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.registryPath = disk.path + "/registry.db"
        let text = configuration.text(
            port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path)
        let path = try directory.write(text, to: "slow.yaml")
        try disk.freeze()
        let process = try ChildProcess(
            BuiltProgram.sallyport, ["run", "-c", path],
            environment: ["NOTIFY_SOCKET": receiver.name, "WATCHDOG_USEC": "100000"])
        for _ in 0..<5 { try receiver.wait(for: "WATCHDOG=1") }
        #expect(!process.text(on: .standardError).contains(#""event":"ready""#))
        disk.thaw()
        try process.waitForLine(on: .standardError, containing: #""event":"ready""#)
        process.terminate()
        #expect(try process.waitForExit() == .exited(0))
    }

    @Test("does not start where NOTIFY_SOCKET is no name")
    func badName() throws {
        let process = try ChildProcess(
            BuiltProgram.sallyport, ["run", "-c", try configurationPath()],
            environment: ["NOTIFY_SOCKET": "nonsense"])
        #expect(try process.waitForExit() == .exited(1))
        #expect(process.text(on: .standardError).contains("NOTIFY_SOCKET nonsense"))
    }

    private func configurationPath(bind port: UInt16 = FreePort.find()) throws -> String {
        let text = GatewayConfiguration(upstreamPort: upstream.port).text(
            port: port, adminPort: FreePort.find(), directory: directory.path)
        return try directory.write(text, to: "sallyport.yaml")
    }

    // MARK: socket activation

    /// Opens the sockets that it is told to, on descriptors from 3 on, and becomes the gateway, as
    /// systemd does.
    private static let activator = """
        import os, re, socket, sys
        config = open(sys.argv[-1]).read()
        sockets = []
        for word in sys.argv[1].split(","):
            if word.startswith("/"):
                s = socket.socket(socket.AF_UNIX)
                s.bind(word)
            else:
                s = socket.socket()
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                port = re.search(r"- bind: 127.0.0.1:(\\d+)", config)[1] if word == "app" else \\
                    re.search(r"admin: { bind: 127.0.0.1:(\\d+)", config)[1] \\
                    if word == "admin" else word
                s.bind(("127.0.0.1", int(port)))
            if not word.endswith("silent"):
                s.listen(64)
            sockets.append(os.dup2(s.fileno(), 100 + len(sockets)))
        for i, fd in enumerate(sockets):
            os.dup2(fd, 3 + i)
        os.environ.update(
            LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(sockets)), LISTEN_FDNAMES="web")
        os.execvp(sys.argv[2], sys.argv[2:])
        """

    private func activated(
        _ sockets: String, workers: Int = 2, binds: [String] = []
    ) throws -> GatewayProcess {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.workers = workers
        configuration.binds = binds
        return try GatewayProcess(
            configuration, directory: directory,
            launcher: [PythonInterpreter.debian.path, "-c", Self.activator, sockets])
    }

    @Test("serves the sockets it was given, with every worker", arguments: [1, 3])
    func activation(workers: Int) throws {
        let path = directory.path(of: "web.sock")
        let gateway = try activated("app,admin,\(path)", workers: workers, binds: ["unix:" + path])
        for _ in 0..<12 { #expect(try gateway.exchange("GET", "/").bodyText == "hello") }
        #expect(try gateway.admin("/livez").status == 200)
        // Its words are its own, not those of a program that it might start.
        let environment = try SystemText.read("/proc/\(gateway.current.processID)/environ")
        #expect(environment.contains("LISTEN_PID="), "as it was when it began")
        #expect(gateway.alarms.isEmpty)
        let index = gateway.current.lines(on: .standardError).count
        gateway.current.send(signal: SIGUSR2)
        try gateway.waitForEvent("ready", from: index)
        #expect(try gateway.terminate() == .exited(0))
        // The manager made it, and serves it on.
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test("opens what it was not given")
    func partly() throws {
        let gateway = try activated("admin")
        #expect(try gateway.exchange("GET", "/").status == 200)
        #expect(try gateway.admin("/livez").status == 200)
    }

    @Test("does not start with a socket that no setting asks for, or one that does not listen")
    func strangers() throws {
        let path = try configurationPath()
        let stranger = FreePort.find()
        let cases = [
            (
                "app,\(stranger)",
                "LISTEN_FDS: 127.0.0.1:\(stranger): opened by the service manager, and no bind of "
                    + "listeners or admin: add it there, or drop its ListenStream"
            ),
            (directory.path(of: "silent"), "not a listening stream socket"),
        ]
        for (sockets, message) in cases {
            let outcome = try ChildProcess.run(
                PythonInterpreter.debian.path,
                ["-c", Self.activator, sockets, BuiltProgram.sallyport, "run", "-c", path])
            #expect(outcome.status == .exited(1))
            #expect(outcome.standardError.contains("LISTEN_FDS"), "\(outcome.standardError)")
            #expect(outcome.standardError.contains(message), "\(outcome.standardError)")
        }
    }
}
