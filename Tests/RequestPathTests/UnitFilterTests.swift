import Foundation
import GatewayTesting
import JSON
import Testing

/// The filter of system calls in `deploy/sallyport.service`, as `unit_filter.py` loads it.
@Suite("The unit's filter", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct UnitFilterTests {}

extension UnitFilterTests {
    /// Debian's Python, which has `seccomp`.
    private static let filter = [
        "/usr/bin/python3", "-B", Repository.path(of: "Tests/Assurance/unit_filter.py"),
        Repository.path(of: "deploy/sallyport.service"),
    ]

    @Test("lets a gateway verify, reload, hand over to the next program and stop")
    func gateway() throws {
        let upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.workers = 2
        let gateway = try GatewayProcess(configuration, launcher: Self.filter)
        let client = try SimulatedClient.enrolled(gateway)
        #expect(try client.request("POST", "/api/x", body: Array("{}".utf8)).status == 200)
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        let index = gateway.current.lines(on: .standardError).count
        gateway.current.send(signal: SIGUSR2)
        try gateway.waitForEvent("ready", from: index)
        try client.connect()
        #expect(try client.request("POST", "/api/x", body: Array("{}".utf8)).status == 200)
        #expect(try gateway.terminate() == .exited(0))
    }

    @Test(
        "refuses what the gateway never needs",
        arguments: [
            "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
            "import mmap; mmap.mmap(-1, 4096, prot=7)",
            "import os; os.sched_setaffinity(0, {0})",
            "import os; os.chroot('/')",
        ])
    func refusal(program: String) throws {
        let outcome = try ChildProcess.run(
            Self.filter[0], Self.filter.dropFirst() + ["/usr/bin/python3", "-c", program])
        #expect(outcome.standardError.contains("PermissionError"), "\(outcome)")
    }
}
