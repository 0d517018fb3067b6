import GatewayTesting
import JSON
import Testing

@Suite(
    "A name server that says nothing",
    .enabled(if: BuiltProgram.isBuilt && ScriptedResolver.isPossible), .timeLimit(.minutes(30)))
struct SilentNameServerTests {}

extension SilentNameServerTests {
    @Test("holds up nothing but what waits for the name")
    func collector() throws {
        let directory = try ScratchDirectory()
        let resolver = try ScriptedResolver(in: directory)
        try resolver.hold("collector.scripted")
        let upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.more = [
            "otlp: { endpoint: \"http://collector.scripted:4318\", metrics_interval: 1s }"
        ]
        let gateway = try GatewayProcess(
            configuration, directory: directory, launcher: resolver.launcher)
        try gateway.waitForEvent("otlp_down")
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        #expect(try gateway.terminate() == .exited(0))
    }
}
