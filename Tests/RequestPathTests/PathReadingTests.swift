import GatewayTesting
import Testing

/// An upstream that reads paths in its own way, said and not said.
@Suite("Paths as upstreams read them, by the program", .enabled(if: BuiltProgram.isBuilt))
struct PathReadingTests {
    private let upstream: RecordingUpstream
    private let directory: ScratchDirectory

    init() throws {
        upstream = try RecordingUpstream()
        directory = try ScratchDirectory()
    }
}

extension PathReadingTests {
    private func configuration(_ paths: String) -> GatewayConfiguration {
        var configuration = GatewayConfiguration(
            upstreamPort: upstream.port,
            routes: [
                .init("transfer", path: "/api/transfer", attest: "mode: enforce"),
                .init("rest", path: "/*"),
            ])
        configuration.upstreams["api"]? += paths
        return configuration
    }

    @Test(
        "a guarded spelling is warned of and still a configuration; said how it is read, it holds")
    func program() throws {
        let open = try directory.write(
            configuration("").text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path),
            to: "open.yaml")
        let check = try BuiltProgram.run(["check", "-c", open])
        #expect(check.status == .exited(0))
        #expect(check.standardError.contains("routes[0].path: guards one spelling"))
        let gateway = try GatewayProcess(
            configuration(", paths: { case: ignore, suffixes: ignore, decode: twice }"))
        let client = try RawClient(port: gateway.port)
        for target in ["/API/transfer", "/api/transfer.json", "/api/%2574ransfer"] {
            #expect(try client.exchange("GET", target).outcome == "401 assertion_required")
        }
        #expect(try client.exchange("GET", "/API/Other.json").status == 200)
        #expect(upstream.requests.map(\.target) == ["/API/Other.json"])
        let told = try BuiltProgram.run(
            ["route", "-c", gateway.configurationPath, "GET", "/API/Transfer.json"])
        #expect(told.standardOutput.contains("  route transfer\n"))
        #expect(
            told.standardOutput.contains(
                "  the upstream reads the path as /api/transfer (upstreams.*.paths)\n"))
        #expect(told.standardOutput.contains("    transfer: taken\n"))
        let good = try BuiltProgram.run(["check", "-c", gateway.configurationPath])
        #expect(!good.standardError.contains("guards one spelling"))
    }
}
