import GatewayTesting
import Testing

/// No spelling of a path reaches the upstream by a weaker route than the plain one would.
@Suite("Paths", .enabled(if: BuiltProgram.isBuilt))
struct PathTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration(
            upstreamPort: upstream.port,
            routes: [
                .init(
                    "transfer", path: "/api/transfer", methods: ["POST"], attest: "mode: enforce"),
                .init("admin", path: "/admin/*", attest: "mode: enforce"),
                .init("rest", path: "/*"),
            ])
        configuration.counters = "embedded"
        gateway = try GatewayProcess(configuration)
    }
}

extension PathTests {
    @Test("other spellings of a guarded path are guarded or refused")
    func spellings() throws {
        let spellings = [
            "/api/transfer", "/api/transfer/", "/api/%74ransfer", "/api/%54ransfer",
            "/%61%70%69/transfer", "/api//transfer", "//api/transfer", "/api/./transfer",
            "/x/../api/transfer", "/x/%2e%2e/api/transfer", "/x/%2E./api/transfer",
            "/api%2ftransfer", "/api%2Ftransfer", "/api%5ctransfer", "/api\\transfer",
            "/api/transfer?x", "/api/transfer;x=1", "/api;x/transfer", "/api/transfer%00",
            "/api/transfer%3f", "/api/transfer%23", "/admin", "/admin/", "/admin/x", "/%61dmin/x",
            "/admin/../admin/x", "/x/..;/admin/x", "/admin%2fx", "/admin/%2e%2e/x",
            "http://other/api/transfer", "/api/transfer#x", "/api/tr\u{e4}nsfer",
        ]
        for spelling in spellings {
            let client = try gateway.connect()
            try client.send("POST \(spelling) HTTP/1.1\r\nHost: other\r\nContent-Length: 0\r\n\r\n")
            let answer = try client.receive()
            // What is neither guarded nor refused must be another resource to any upstream.
            if answer.status == 200 {
                #expect(
                    ["/api/%54ransfer", "/api/transfer%3f", "/api/transfer%23", "/api;x/transfer"]
                        .contains(spelling), "\(spelling)")
            } else {
                #expect([400, 401, 404].contains(answer.status), "\(spelling): \(answer.status)")
            }
        }
    }

    @Test("an encoded control byte is passed on where a listener allows it, and NUL nowhere")
    func controlBytes() throws {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        configuration.listenerMore = ["allow: [encoded_control]"]
        let gateway = try GatewayProcess(configuration)
        #expect(try gateway.exchange("GET", "/a%0a%1Fb").status == 200)
        #expect(upstream.requests.map(\.target) == ["/a%0a%1Fb"])
        #expect(try gateway.exchange("GET", "/a%00").status == 400)
    }

    @Test("a method that a guarded path does not take falls through to nothing")
    func methods() throws {
        for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "post", "POSTS"] {
            let answer = try gateway.exchange(method, "/api/transfer")
            #expect([400, 404, 501].contains(answer.status), "\(method): \(answer.status)")
        }
        #expect(try gateway.exchange("POST", "/api/transfer").outcome == "401 assertion_required")
        #expect(upstream.requests.isEmpty)
    }

    @Test("headers that ask upstreams to take another path do not pass a guarded route")
    func overrides() throws {
        let overriding = [
            ("X-Original-URL", "/other"), ("X-Rewrite-URL", "/other"),
            ("X-HTTP-Method-Override", "DELETE"), ("X-HTTP-Method", "DELETE"),
            ("X-Method-Override", "DELETE"), ("X_Original_URL", "/other"), ("X-Stays", "1"),
        ]
        let client = try SimulatedClient.enrolled(gateway)
        let fields = try client.signature("GET", "/admin/x")
        let answer = try client.raw.exchange("GET", "/admin/x", fields: fields + overriding)
        #expect(answer.status == 200)
        let seen = try #require(upstream.requests.first)
        #expect(!seen.message.fields.contains { ["/other", "DELETE"].contains($0.value) })
        #expect(seen["X-Stays"] == "1")
    }

    @Test("where nothing matches, 404")
    func noRoute() throws {
        let narrow = try GatewayProcess(
            GatewayConfiguration(
                upstreamPort: upstream.port, routes: [.init("only", path: "/only")]))
        #expect(try narrow.exchange("GET", "/only").status == 200)
        #expect(try narrow.exchange("GET", "/other").outcome == "404 not_found")
        #expect(try narrow.exchange("GET", "/only/x").outcome == "404 not_found")
    }

    @Test("the target that was matched goes on byte for byte")
    func untouched() throws {
        for target in ["/a%2dB?x=%2F&y=..//", "/%7euser/%e4", "/a,b(c)!*'$&+=:@~"] {
            #expect(try gateway.exchange("GET", target).status == 200)
            #expect(upstream.requests.last?.target == target)
        }
    }
}
