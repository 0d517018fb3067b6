import Foundation
import GatewayTesting
import Testing

@Suite("Too few descriptors", .enabled(if: BuiltProgram.isBuilt))
struct DescriptorTests {
    private static let launcher = ["sh", "-c", #"ulimit -n 128; exec "$@""#, "sh"]

    @Test("clients take all: /livez answers, no server is ejected, and those who are in are served")
    func exhausted() throws {
        let gate = Gate()
        let upstreams = try (0..<2).map { _ in
            try RecordingUpstream { $0.target == "/held" ? .response(after: gate) : .response() }
        }
        var configuration = GatewayConfiguration(upstreamPort: upstreams[0].port)
        let servers = upstreams.map { "\"127.0.0.1:\($0.port)\"" }.joined(separator: ", ")
        configuration.upstreams["api"] = "servers: [\(servers)], ejection: { failures: 1 }"
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
