import AppAttestTesting
import GatewayTesting
import Testing

/// `docs/recipes/nginx.md`.
@Suite(
    "The recipe for nginx",
    .enabled(if: BuiltProgram.isBuilt && Proxy.hasNginx, "nginx is not installed"))
struct NginxRecipeTests {
    private let directory: ScratchDirectory
    private let upstream: RecordingUpstream
    private let certificate: TestCertificate
    private let gateway: RecipeGateway
    private let port = FreePort.find()
    private let gatewayPort = FreePort.find()
    private let adminPort = FreePort.find()

    init() throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
        certificate = try TestCertificate(in: directory, "api", names: ["localhost"])
        gateway = try RecipeGateway(
            try Recipe.file("nginx/sallyport.yaml").moved([
                "127.0.0.1:8080": "127.0.0.1:\(gatewayPort)",
                "127.0.0.1:9001": "127.0.0.1:\(upstream.port)",
                "127.0.0.1:9464": "127.0.0.1:\(adminPort)",
                "/var/lib/sallyport": directory.path,
            ]), in: directory)
    }
}

extension NginxRecipeTests {
    private func site(port: UInt16) throws -> String {
        try Recipe.file("nginx/sallyport.conf").moved([
            "listen 443": "listen 127.0.0.1:\(port)", "127.0.0.1:8080": "127.0.0.1:\(gatewayPort)",
            "/etc/nginx": directory.path,
        ])
    }

    private func app(port: UInt16, device: SimulatedDevice? = nil) throws -> App {
        try App(
            "https://localhost:\(port)", options: ["--cacert", certificate.certificatePath],
            device: device)
    }

    @Test("apps prove themselves through it, and the API hears who the client is from nobody else")
    func passes() throws {
        let nginx = try NginxServer.start(try site(port: port), in: directory)
        let app = try app(port: port)
        try app.enrol()
        let forged = [
            ("X-Forwarded-For", "192.0.2.6"), ("Forwarded", "for=192.0.2.7"),
            ("X-Request-Id", "forged"), ("x_device", "1"),
        ]
        let fields = try app.signature("POST", "/api/transfer?to=7", body: Array("ten".utf8))
        let body = Array("ten".utf8)
        let answer = try app.exchange(
            "POST", "/api/transfer?to=7", fields: fields + forged, body: body,
            options: ["--http2"])
        #expect(answer.outcome == "200" && answer.version == "2")
        let seen = try #require(upstream.requests.last)
        #expect(seen.target == "/api/transfer?to=7" && seen.body == body)
        #expect(seen["X-Forwarded-For"] == "127.0.0.1, 127.0.0.1")
        #expect(seen["X-Forwarded-Proto"] == "https")
        #expect(seen["Forwarded"] == nil && seen["x_device"] == nil)
        #expect(seen["X-Request-Id"]?.count == 32)
        #expect(
            try app.exchange("POST", "/api/transfer?to=7", fields: fields, body: body).outcome
                == "401 assertion_replayed")
        // Everything so far came over one connection, which nginx keeps.
        let page = try RawClient(port: adminPort).exchange("GET", "/metrics").bodyText
        let connections = page.matches(of: #/sallyport_connections\{.*\} (\d+)/#).compactMap {
            Int($0.output.1)
        }
        #expect(connections.reduce(0, +) == 1)
        #expect(nginx.exitStatus == nil)
    }

    @Test("bodies arrive whole in every framing, and WebSockets are opened")
    func bodies() throws {
        let nginx = try NginxServer.start(try site(port: port), in: directory)
        let app = try app(port: port)
        try app.enrol()
        let large = (0..<3 << 19).map { UInt8(truncatingIfNeeded: $0) }
        for options in [["--http2"], ["--http1.1", "-H", "Transfer-Encoding: chunked"]] {
            #expect(try app.request("POST", "/api/x", body: large, options: options).status == 200)
            let isWhole = upstream.requests.last?.body == large
            #expect(isWhole)
        }
        let agreement = "HTTP/1.1 101 OK\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello"
        upstream.answer { _ in .raw(agreement, then: .close) }
        let socket = try app.request(
            "GET", "/live",
            fields: [
                ("Connection", "Upgrade"), ("Upgrade", "websocket"),
                ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ], options: ["--http1.1"])
        #expect(socket.status == 101 && socket.body == "hello")
        #expect(nginx.exitStatus == nil)
    }

    @Test("each directive of its table does to a signed request what the table says")
    func table() throws {
        let rows = try Recipe("nginx").rows("directive")
        #expect(rows.count > 6)
        let direct = try App.enrolled("http://127.0.0.1:\(gatewayPort)")
        for row in rows {
            let (directive, request) = (row[0], row[1].split(separator: " "))
            let port = FreePort.find()
            let whole = try site(port: port)
            // A directive takes the place of its own kind, or stands beside the others.
            let kind = directive.split(separator: " ").prefix(
                directive.hasPrefix("proxy_set_header") ? 2 : 1
            ).joined(separator: " ")
            let changed =
                whole.split(separator: "\n").filter {
                    let line = $0.drop { $0 == " " }
                    return !line.hasPrefix(kind + " ")
                }.joined(separator: "\n")
                .replacing("location / {", with: "location / {\n\(directive)")
            let nginx = try NginxServer.start(changed, in: directory)
            let (method, target) = (String(request[0]), String(request[1]))
            let body: [UInt8] = method == "POST" ? Array(repeating: 0x61, count: 2000) : []
            let answer = try app(port: port, device: direct.device).exchange(
                method, target, fields: try direct.signature(method, target, body: body),
                body: body)
            #expect(answer.outcome == row[2], "\(directive)")
            nginx.terminate()
        }
    }
}
