import Foundation
import GatewayTesting
import Testing

@Suite("sallyport explain request, of a gateway's own refusals", .enabled(if: BuiltProgram.isBuilt))
struct ExplainRingTests {}

extension ExplainRingTests {
    @Test("finds what no log has among the last refusals of a running gateway")
    func ring() throws {
        let upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.listenerMore = ["trusted_proxies: [127.0.0.0/8]"]
        let gateway = try GatewayProcess(configuration)
        let id = "a'b;c/%d&e=f+g"
        let refused = try gateway.exchange("GET", "/api/x", fields: [("X-Request-Id", id)])
        #expect(refused.outcome == "401 assertion_required")
        let found = try BuiltProgram.run(
            ["explain", "request", id, "-c", gateway.configurationPath])
        #expect(found.status == .exited(0), "\(found.standardError)")
        #expect(found.standardOutput.contains("cause     assertion_required\n"))
        #expect(found.standardOutput.contains("found in  the last refusals of 127.0.0.1:"))
        let unknown = try BuiltProgram.run(
            ["explain", "request", "none", "-c", gateway.configurationPath])
        #expect(unknown.status == .exited(1))
        #expect(unknown.standardError.contains("was not found in the last refusals of"))
    }
}
