import Foundation
import GatewayTesting
import Testing

@Suite("Too few descriptors", .enabled(if: BuiltProgram.isBuilt))
struct DescriptorTests {}

extension DescriptorTests {
    @Test("the doctor says what the start says, of the limit that it runs under")
    func doctor() throws {
        let upstream = try RecordingUpstream()
        let directory = try ScratchDirectory()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        // Each worker has descriptors of its own, which are counted below.
        configuration.workers = 1
        let path = try directory.write(
            configuration.text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "doctor.yaml")
        let words = [BuiltProgram.sallyport, "doctor", "-c", path]
        let few = try ChildProcess.run(
            Self.launcher[0], Array(Self.launcher.dropFirst()) + words)
        #expect(few.status == .exited(0), "\(few.standardOutput)")
        #expect(
            few.standardOutput.contains(
                #/warn  descriptors: limits.connections .* allow \d+ open files, .* only 136: /#),
            "\(few.standardOutput)")
        let enough = try directory.write(
            try String(contentsOfFile: path, encoding: .utf8)
                .replacing("] }\nroutes:", with: "], connections_max: 2 }\nroutes:")
                + "limits: { connections: 16 }\n", to: "enough.yaml")
        let outcome = try BuiltProgram.run(["doctor", "-c", enough])
        #expect(
            outcome.standardOutput.contains(#/ok    descriptors: at most 274 of \d+/#),
            "\(outcome.standardOutput)\(outcome.standardError)")
    }

    private static let launcher = ["sh", "-c", #"ulimit -n 136; exec "$@""#, "sh"]

    @Test("clients take all: /livez answers, no server is ejected, and those who are in are served")
    func exhausted() throws {
        let gate = Gate()
        let upstreams = try (0..<2).map { _ in
            try RecordingUpstream { $0.target == "/held" ? .response(after: gate) : .response() }
        }
        var configuration = GatewayConfiguration(upstreamPort: upstreams[0].port)
        let servers = upstreams.map { "\"127.0.0.1:\($0.port)\"" }.joined(separator: ", ")
        configuration.upstreams["api"] = "servers: [\(servers)], ejection: { failures: 1 }"
        // Two workers would not accept clients in the order in which they come.
        configuration.workers = 1
        let gateway = try GatewayProcess(configuration, launcher: Self.launcher)
        try gateway.waitForEvent("descriptor_limit")
        var clients = try (0..<130).map { _ in try gateway.connect() }
        try gateway.waitForEvent("out_of_descriptors")
        #expect(try clients[0].exchange("GET", "/").status == 200)
        // More at once than there are descriptors for.
        for client in clients[..<40] { try client.send("GET", "/held") }
        for _ in 0..<8 { #expect(try gateway.admin("/livez").status == 200) }
        for upstream in upstreams {
            let label = "{upstream=\"api\",server=\"127.0.0.1:\(upstream.port)\"}"
            #expect(try gateway.metric("sallyport_upstream_server_up" + label) == 1)
            #expect(try gateway.metric("sallyport_upstream_failures_total" + label) == 0)
        }
        gate.open()
        var statuses: [Int: Int] = [:]
        for client in clients[..<40] { statuses[try client.receive().status, default: 0] += 1 }
        #expect(Set(statuses.keys) == [200, 503], "\(statuses)")
        clients = []
        #expect(try gateway.exchange("GET", "/").status == 200)
        #expect(gateway.alarms.isEmpty)
    }
}
