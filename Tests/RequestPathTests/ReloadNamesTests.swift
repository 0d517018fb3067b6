import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "Names of upstream servers", .enabled(if: BuiltProgram.isBuilt && ScriptedResolver.isPossible))
struct ReloadNamesTests {
    private let directory: ScratchDirectory
    private let resolver: ScriptedResolver
    private let upstream: RecordingUpstream

    init() throws {
        directory = try ScratchDirectory()
        resolver = try ScriptedResolver(in: directory)
        upstream = try RecordingUpstream()
    }
}

extension ReloadNamesTests {
    private func up(_ gateway: GatewayProcess, _ server: String) throws -> Double? {
        try gateway.metric("sallyport_upstream_server_up{upstream=\"api\",server=\"\(server)\"}")
    }

    @Test("a name that does not resolve stops neither start nor reload, and is asked for again")
    func unresolved() throws {
        let other = try RecordingUpstream()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.upstreams["api"] =
            "servers: [\"127.0.0.1:\(upstream.port)\", \"late.scripted:\(other.port)\"]"
        let gateway = try GatewayProcess(
            configuration, directory: directory, launcher: resolver.launcher)
        let event = try gateway.waitForEvent("resolve_failed")
        #expect(event["message"]?.stringValue?.contains("late.scripted") == true)
        for _ in 0..<4 { #expect(try gateway.exchange("GET", "/").status == 200) }
        #expect(try up(gateway, "late.scripted:\(other.port)") == 0)
        configuration.upstreams["gone"] = "servers: [\"gone.scripted:80\"]"
        configuration.routes.insert(.init("gone", path: "/gone/*", upstream: "gone"), at: 0)
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        #expect(try gateway.exchange("GET", "/gone/x").status == 503)
        try resolver.set("late.scripted", "127.0.0.1")
        try gateway.waitForEvent("servers_changed")
        #expect(try up(gateway, "127.0.0.1:\(other.port)") == 1)
        try repeatWhile(other.requests.isEmpty) { () throws in
            #expect(try gateway.exchange("GET", "/").status == 200)
        }
    }

    @Test("a name server that does not answer holds a reload back for seconds, and nothing else")
    func slowReload() throws {
        let gateway = try GatewayProcess(
            GatewayConfiguration(upstreamPort: upstream.port), directory: directory,
            launcher: resolver.launcher)
        try resolver.hold("slow.scripted")
        let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
            .replacing("127.0.0.1:\(upstream.port)", with: "slow.scripted:\(upstream.port)")
        try text.write(toFile: gateway.configurationPath, atomically: true, encoding: .utf8)
        gateway.current.send(signal: SIGHUP)
        #expect(try gateway.admin("/livez").status == 200)
        // Once more meanwhile: it is read again after this one.
        gateway.current.send(signal: SIGHUP)
        try waitWhile(gateway.metric("sallyport_config_generation") != 2)
        #expect(try gateway.exchange("GET", "/").status == 503)
        try resolver.release("slow.scripted", "127.0.0.1")
        try gateway.waitForEvent("servers_changed")
        try waitWhile(try gateway.exchange("GET", "/").status != 200)
    }

    @Test("a reload that is refused has changed nothing: neither metrics nor where requests go")
    func refused() throws {
        let other = try RecordingUpstream()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        let gateway = try GatewayProcess(configuration)
        let before = try figures(gateway)
        configuration.upstreams["api"] = """
            servers: ["127.0.0.1:\(other.port)"],
            health_check: { path: /health, interval: 1s, timeout: 500ms }
            """.replacing("\n", with: " ")
        configuration.upstreams["more"] = "servers: [\"127.0.0.1:\(other.port)\"]"
        configuration.routes.insert(.init("more", path: "/more/*", upstream: "more"), at: 0)
        // Taken: the last thing that a reload needs fails.
        configuration.binds = ["127.0.0.1:\(upstream.port)"]
        let event = try gateway.reload(configuration)
        #expect(event["event"]?.stringValue == "reload_failed")
        #expect(try figures(gateway) == before)
        #expect(try gateway.exchange("GET", "/more/x").status == 200)
        #expect(upstream.requests.count == 1)
        #expect(other.connectionCount == 0)
        configuration.binds = []
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        try other.waitForRequests(1)
        #expect(try figures(gateway) != before)
    }

    /// Which upstream servers the metrics tell of, and the generation.
    private func figures(_ gateway: GatewayProcess) throws -> [String] {
        try gateway.admin("/metrics").bodyText.split(separator: "\n").map(String.init).filter {
            $0.hasPrefix("sallyport_upstream_server_up")
                || $0.hasPrefix("sallyport_config_generation")
        }
    }
}
