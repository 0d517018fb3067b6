import Foundation
import GatewayTesting
import Testing

/// The built gateway in front of several servers.
@Suite("Upstream servers")
struct UpstreamHealthTests {}

extension UpstreamHealthTests {
    private func configuration(
        _ ports: [UInt16], host: String = "127.0.0.1", more: String
    ) -> GatewayConfiguration {
        var configuration = GatewayConfiguration(upstreamPort: 1)
        let servers = ports.map { "\"\(host):\($0)\"" }.joined(separator: ", ")
        configuration.upstreams = ["api": "servers: [\(servers)], \(more)"]
        configuration.workers = 2
        return configuration
    }

    @Test("a server whose checks fail is used no more, and is again when they pass")
    func healthCheck() throws {
        let sick = try RecordingUpstream { $0.target == "/health" ? .response(503) : .response() }
        let well = try RecordingUpstream { _ in .response(body: "well") }
        let gateway = try GatewayProcess(
            configuration(
                [sick.port, well.port],
                more: "health_check: { path: /health, interval: 100ms, rises: 1, falls: 2 }"))
        let down = try gateway.waitForEvent("server_down")
        #expect("\(down)".contains("status 503"))
        let seen = sick.requests.count { $0.target != "/health" }
        for _ in 0..<10 { #expect(try gateway.exchange("GET", "/x").bodyText == "well") }
        #expect(sick.requests.count { $0.target != "/health" } == seen)
        let label = "{upstream=\"api\",server=\"127.0.0.1:\(sick.port)\"}"
        #expect(try gateway.metric("sallyport_upstream_server_up\(label)") == 0)
        #expect(try gateway.admin("/").bodyText.contains("<td>down</td>"))
        sick.answer { _ in .response() }
        try gateway.waitForEvent("server_up")
        // Each worker takes turns of its own.
        try repeatWhile(!sick.requests.contains(where: { $0.target == "/y" })) { () throws in
            #expect(try gateway.exchange("GET", "/y").status == 200)
        }
        // Checks are neither logged nor counted as requests.
        #expect(gateway.alarms.isEmpty)
        let count = sick.requests.count { $0.target != "/health" }
        #expect(
            try gateway.metric("sallyport_upstream_requests_total\(label)") == Double(count))
        let check = try #require(sick.requests.first { $0.target == "/health" })
        #expect(check["Host"] == "127.0.0.1:\(sick.port)")
        #expect(check["Connection"] == "close")
    }

    @Test("a server that nobody listens at is down, and checks outlive a reload")
    func deadServer() throws {
        let dead = FreePort.find()
        let well = try RecordingUpstream()
        let base = configuration(
            [dead, well.port],
            more: "health_check: { interval: 100ms, timeout: 50ms, rises: 1, falls: 1 }")
        let gateway = try GatewayProcess(base)
        try gateway.waitForEvent("server_down")
        var changed = base
        changed.more = ["limits: { head: 16KiB }"]
        try gateway.reload(changed)
        #expect(try gateway.exchange("GET", "/x").status == 200)
        let back = try RecordingUpstream(port: dead)
        try gateway.waitForEvent("server_up")
        try repeatWhile(!back.requests.contains(where: { $0.target == "/y" })) { () throws in
            #expect(try gateway.exchange("GET", "/y").status == 200)
        }
        // Without the setting nothing is checked, and nothing is held against a server.
        try gateway.reload(configuration([dead, well.port], more: "balance: round_robin"))
        #expect(try gateway.exchange("GET", "/z").status == 200)
    }

    @Test("a name with an address that nobody listens at loses no request")
    func localhost() throws {
        let upstream = try RecordingUpstream()
        let gateway = try GatewayProcess(
            configuration([upstream.port], host: "localhost", more: "resolve_interval: 1s"))
        for _ in 0..<12 { #expect(try gateway.exchange("POST", "/x").status == 200) }
        #expect(upstream.requests.count == 12)
    }

    @Test("servers on unix sockets are servers like others")
    func unixSocket() throws {
        let directory = try ScratchDirectory()
        let path = directory.path(of: "api.sock")
        let nginx = try NginxServer(
            locations: "listen unix:\(path); location / { return 200 \"$server_addr\"; }")
        var configuration = GatewayConfiguration(upstreamPort: nginx.port)
        configuration.upstreams = [
            "api": "servers: [\"unix:\(path)\", \"127.0.0.1:\(nginx.port)\"]"
        ]
        let gateway = try GatewayProcess(configuration)
        let client = try gateway.connect()
        let answers = try (0..<4).map { _ in try client.exchange("GET", "/").bodyText }
        #expect(answers.count { $0.hasPrefix("unix:") } == 2)
        #expect(answers.count { $0 == "127.0.0.1" } == 2)
    }

    @Test("a server that is killed under load fails no idempotent request")
    func killedUnderLoad() throws {
        let nginx = try NginxServer()
        let dying = try RecordingUpstream()
        let gateway = try GatewayProcess(
            configuration([nginx.port, dying.port], more: "balance: least_connections"))
        let failures = Failures()
        DispatchQueue.concurrentPerform(iterations: 8) { index in
            guard let client = try? gateway.connect() else { return failures.add("connect") }
            for number in 0..<50 {
                if index == 0, number == 10 { dying.stop() }
                let answer = try? client.exchange("GET", "/\(index)/\(number)")
                if answer?.status != 200 { failures.add("\(answer?.status ?? 0)") }
            }
        }
        #expect(failures.all.isEmpty)
    }
}

private final class Failures: @unchecked Sendable {
    private let lock = NSLock()
    private var texts: [String] = []

    func add(_ text: String) { lock.withLock { texts.append(text) } }
    var all: [String] { lock.withLock { texts } }
}
