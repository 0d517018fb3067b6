import Foundation
import GatewayTesting
import JSON
import Testing

/// A file system that is frozen, as for a snapshot: a thread that writes to it waits in the kernel.
@Suite(
    "A gateway on a frozen disk",
    .enabled(
        if: BuiltProgram.isBuilt && LoopFileSystem.isAllowed(),
        Comment(rawValue: LoopFileSystem.needs)),
    .timeLimit(.minutes(30)))
struct FrozenDiskTests {}

extension FrozenDiskTests {
    private static let large = [UInt8](repeating: 0x62, count: 1024 * 1024)

    @Test("bodies for a frozen disk get 503 in time, and everything else goes on")
    func bodies() throws {
        let site = try FaultSite()
        let system = try LoopFileSystem()
        let gateway = try site.start(bodiesOn: system, timeouts: "body_file: 200ms")
        try waitWhile(try gateway.exchange("POST", "/open/x", body: Self.large).status != 200)
        let device = try site.enrolledDevice(at: gateway)
        try system.freeze()
        for _ in 0..<3 {
            let refused = try gateway.exchange("POST", "/open/x", body: Self.large)
            #expect(refused.verdict == "503 gateway_busy")
            #expect(refused["Retry-After"] == "1")
            #expect(try gateway.exchange("POST", "/open/x", body: [1]).status == 200)
            let signed = try device.call("window", at: gateway).exchange(with: gateway)
            #expect(signed.status == 200, "\(signed.verdict)")
            for page in ["/livez", "/readyz"] { #expect(try gateway.admin(page).status == 200) }
        }
        let event = try gateway.waitForEvent("body_file_failed")
        #expect(
            event["message"]?.stringValue
                == "\(system.path): no answer within timeouts.body_file")
        system.thaw()
        let isServed = try gateway.poll { _ in
            try gateway.exchange("POST", "/open/x", body: Self.large).status == 200 ? true : nil
        }
        #expect(isServed)
        let seen = site.upstream.requests.last
        #expect(seen?.body == Self.large)
        #expect(gateway.isUnharmed)
        #expect(try gateway.terminate() == .exited(0))
    }

    @Test("a freeze that is shorter than timeouts.body_file makes clients wait, and no more")
    func short() throws {
        let site = try FaultSite()
        let system = try LoopFileSystem()
        let gateway = try site.start(bodiesOn: system, timeouts: "body_file: 60s")
        try system.freeze()
        let client = try gateway.connect()
        try client.send(
            "POST /open/x HTTP/1.1\r\nHost: a\r\nContent-Length: \(Self.large.count)\r\n\r\n")
        // What the gateway takes before it has the client wait.
        try client.send(Array(Self.large.prefix(100_000)))
        #expect(try gateway.exchange("POST", "/open/x", body: [1]).status == 200)
        system.thaw()
        try client.send(Array(Self.large.dropFirst(100_000)))
        #expect(try client.receive().status == 200)
        let seen = site.upstream.requests.last
        #expect(seen?.body == Self.large)
    }

    @Test("it stops when it is told to, as far as the kernel lets it, and holds no listener")
    func stop() throws {
        let site = try FaultSite()
        let system = try LoopFileSystem()
        let gateway = try site.start(bodiesOn: system, timeouts: "body_file: 200ms")
        try system.freeze()
        let refused = try gateway.exchange("POST", "/open/x", body: Self.large)
        #expect(refused.verdict == "503 gateway_busy")
        gateway.current.terminate()
        try gateway.waitForEvent("stopped")
        #expect(throws: (any Error).self) { try gateway.connect() }
        system.thaw()
        #expect(try gateway.current.waitForExit() == .exited(0))
    }

    @Test("no other program takes over from one whose log does not answer, and the page names it")
    func log() throws {
        let system = try LoopFileSystem()
        let upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = ["log: { access: \(system.path)/access.log }"]
        let gateway = try GatewayProcess(configuration)
        #expect(try gateway.exchange("GET", "/").status == 200)
        try system.freeze()
        #expect(try gateway.exchange("GET", "/").status == 200)
        gateway.current.send(signal: SIGUSR2)
        let event = try gateway.waitForEvent("upgrade_failed")
        #expect(
            event["message"]?.stringValue?.contains("log.access: its file does not answer") == true)
        #expect(try gateway.exchange("GET", "/").status == 200)
        let problem = try gateway.poll { _ -> JSONValue? in
            let status = try JSONValue.parse(gateway.admin("/status.json").bodyText)
            return status["problems"]?.arrayValue?.first { $0["name"]?.stringValue == "log_stuck" }
        }
        #expect(problem["text"]?.stringValue?.hasPrefix("log.access has waited") == true)
        gateway.current.terminate()
        try gateway.current.waitForLine(
            on: .standardError,
            containing: "sallyport: log.access: its file does not answer, so ")
        system.thaw()
        #expect(try gateway.current.waitForExit() == .exited(0))
    }
}
