import Foundation
import GatewayTesting
import Testing

@Suite(
    "Signals at a start and at an end", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct EarlySignalTests {
    private let upstream: RecordingUpstream
    private let directory: ScratchDirectory

    init() throws {
        upstream = try RecordingUpstream()
        directory = try ScratchDirectory()
    }
}

extension EarlySignalTests {
    /// A gateway in the middle of its start: it waits for its configuration.
    private struct HeldStart {
        let process: ChildProcess
        /// Lets the start go on. A later read finds the configuration in a file.
        let goOn: () throws -> Void
    }

    private func heldStart() throws -> HeldStart {
        let text = GatewayConfiguration(upstreamPort: upstream.port).text(
            port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path)
        let path = directory.path(of: "sallyport.yaml")
        let file = try directory.write(text, to: "regular.yaml")
        try #require(mkfifo(path, 0o600) == 0)
        let process = try ChildProcess(BuiltProgram.sallyport, ["run", "-c", path])
        // Returns once the process reads.
        let pipe = try #require(FileHandle(forWritingAtPath: path))
        return HeldStart(process: process) {
            try #require(rename(file, path) == 0)
            try pipe.write(contentsOf: Data(text.utf8))
            try pipe.close()
        }
    }

    @Test(
        "what a signal asks for waits until the gateway runs",
        arguments: [(SIGHUP, "reloaded"), (SIGUSR1, "logs_reopened"), (SIGUSR2, "upgrading")])
    func request(signal: Int32, event: String) throws {
        let start = try heldStart()
        start.process.send(signal: signal)
        try start.goOn()
        let done = #""event":"\#(event)""#
        try start.process.waitForLine(on: .standardError, containing: done)
        if signal == SIGUSR2 {
            // The next program.
            let first = try #require(
                start.process.lines(on: .standardError).firstIndex { $0.contains(done) })
            try start.process.waitForLine(
                on: .standardError, from: first, containing: #""event":"ready""#)
        }
        start.process.terminate()
        #expect(try start.process.waitForExit() == .exited(0))
    }

    @Test("a start that waits is ended by SIGTERM and SIGINT", arguments: [SIGTERM, SIGINT])
    func end(signal: Int32) throws {
        let start = try heldStart()
        start.process.send(signal: signal)
        #expect(try start.process.waitForExit() == .signalled(signal))
    }

    @Test("no signal ends a gateway before it has brought its end to an end")
    func tail() throws {
        for signal in [SIGHUP, SIGUSR1, SIGUSR2, SIGTERM] {
            let gateway = try GatewayProcess(GatewayConfiguration(upstreamPort: upstream.port))
            gateway.current.terminate()
            try repeatWhile(gateway.current.exitStatus == nil) {
                gateway.current.send(signal: signal)
            }
            #expect(gateway.current.exitStatus == .exited(0), "\(signal)")
        }
    }
}
