import Foundation
import GatewayTesting
import Testing

/// A gateway whose threads wait for something that does not come.
@Suite(
    "A gateway with stuck threads",
    .enabled(if: BuiltProgram.isBuilt && StoppedThreads.isAllowed, "needs root"),
    .timeLimit(.minutes(30)))
struct StuckThreadTests {}

extension StuckThreadTests {
    @Test("probes and operators are answered while every other thread stands still")
    func admin() throws {
        let upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.workers = 2
        let probes = FreePort.find()
        configuration.probes = "127.0.0.1:\(probes)"
        let gateway = try GatewayProcess(configuration)
        try gateway.waitForReadiness(200)
        let names = try StoppedThreads.threads(of: gateway.current).map(\.name)
        #expect(names.contains("admin"))
        let client: RawClient
        do {
            let stopped = try StoppedThreads(
                of: gateway.current, named: Set(names).subtracting(["admin"]))
            for port in [gateway.adminPort, probes] {
                let client = try RawClient(port: port, host: "127.0.0.1")
                for page in ["/livez", "/readyz"] {
                    #expect(try client.exchange("GET", page).status == 200)
                }
            }
            for page in ["/metrics", "/", "/status.json"] {
                #expect(try gateway.admin(page).status == 200, "\(page)")
            }
            client = try gateway.connect()
            try client.send("GET", "/")
            #expect(upstream.requests.isEmpty)
            withExtendedLifetime(stopped) {}
        }
        #expect(try client.receive().status == 200)
        #expect(try gateway.terminate() == .exited(0))
    }
}
