import AppAttestTesting
import GatewayTesting
import Testing

/// `docs/recipes/haproxy.md`.
@Suite(
    "The recipe for HAProxy",
    .enabled(if: BuiltProgram.isBuilt && Proxy.hasHAProxy, "HAProxy is not installed"))
struct HAProxyRecipeTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream
    private let certificate: TestCertificate
    private let port = FreePort.find()
    private let gatewayPort = FreePort.find()
    private let probePort = FreePort.find()

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
        certificate = try TestCertificate(in: directory, "api", names: ["localhost"])
        try directory.write(
            try certificate.certificatePEM + certificate.keyPEM, to: "api.pem")
    }
}

extension HAProxyRecipeTests {
    private func gateway(_ name: String) throws -> RecipeGateway {
        try RecipeGateway(
            try Recipe.file("haproxy/\(name).yaml").moved([
                "127.0.0.1:8080": "127.0.0.1:\(gatewayPort)",
                "127.0.0.1:9001": "127.0.0.1:\(upstream.port)",
                "127.0.0.1:9464": "127.0.0.1:\(FreePort.find())",
                "127.0.0.1:9465": "127.0.0.1:\(probePort)",
                "/var/lib/sallyport": directory.path,
            ]), in: directory)
    }

    private func configuration(_ name: String, port: UInt16) throws -> String {
        try Recipe.file("haproxy/\(name).cfg").moved([
            "bind :443": "bind 127.0.0.1:\(port)", "127.0.0.1:8080": "127.0.0.1:\(gatewayPort)",
            "9465": "\(probePort)", "inter 2s": "inter 100ms", "/etc/haproxy": directory.path,
        ])
    }

    private func app(port: UInt16, device: SimulatedDevice? = nil) throws -> App {
        try App(
            "https://localhost:\(port)", options: ["--cacert", certificate.certificatePath],
            device: device)
    }

    @Test(
        "apps prove themselves through it, and the API hears who the client is from nobody else",
        arguments: [("http", "127.0.0.1, 127.0.0.1"), ("proxy-protocol", "127.0.0.1")])
    func passes(name: String, chain: String) throws {
        let gateway = try gateway(name)
        let proxy = try HAProxy(try configuration(name, port: port), in: directory)
        let app = try app(port: port)
        try app.enrol()
        let body = Array("ten".utf8)
        for options in [["--http2"], ["--http1.1"]] {
            let answer = try app.request(
                "POST", "/api/transfer?to=7", body: body,
                fields: [("X-Forwarded-For", "192.0.2.6"), ("Forwarded", "for=192.0.2.7")],
                options: options)
            #expect(answer.outcome == "200")
            #expect("--http\(answer.version)" == options[0])
            let seen = try #require(upstream.requests.last)
            #expect(seen.target == "/api/transfer?to=7" && seen.body == body)
            #expect(seen["X-Forwarded-For"] == chain)
            #expect(seen["Forwarded"] == nil)
        }
        // Its check finds out that nobody answers any more.
        try gateway.stop()
        try proxy.awaitServers { $0["gateway"]?.hasPrefix("DOWN") == true }
    }

    @Test("each directive of its table does to a signed request what the table says")
    func table() throws {
        let gateway = try gateway("http")
        let rows = try Recipe("haproxy").rows("directive")
        #expect(rows.count > 4)
        let direct = try App.enrolled("http://127.0.0.1:\(gatewayPort)")
        for row in rows {
            let (directive, request) = (row[0], row[1].split(separator: " "))
            let port = FreePort.find()
            let changed = try configuration("http", port: port).moved([
                "    default_backend": "    \(directive)\n    default_backend"
            ])
            let proxy = try HAProxy(changed, in: directory)
            let (method, target) = (String(request[0]), String(request[1]))
            let body = Array((method == "POST" ? "ten" : "").utf8)
            let answer = try app(port: port, device: direct.device).exchange(
                method, target, fields: try direct.signature(method, target, body: body),
                body: body)
            #expect(answer.outcome == row[2], "\(directive)")
            try proxy.stop()
        }
        #expect(gateway.process.exitStatus == nil)
    }
}
