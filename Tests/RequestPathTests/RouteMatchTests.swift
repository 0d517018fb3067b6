import GatewayTesting
import Testing

/// Hosts and headers choose a route, and never a weaker one than the path is guarded by.
@Suite("Hosts and headers", .enabled(if: BuiltProgram.isBuilt))
struct RouteMatchTests {
    private let upstream: RecordingUpstream
    private let other: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        upstream = try RecordingUpstream()
        other = try RecordingUpstream()
        var configuration = GatewayConfiguration(
            upstreamPort: upstream.port,
            routes: [
                .init(
                    "transfer", path: "/api/transfer", methods: ["POST"], attest: "mode: enforce"),
                .init("api", path: "/*", more: ["hosts: [api.example.com, \"[::1]\"]"]),
                .init(
                    "beta", path: "/*", upstream: "other",
                    more: ["hosts: [api.example.com]", "headers: { X-Version: \"2\" }"]),
                .init(
                    "shop", path: "/*", upstream: "other", more: ["hosts: [\"*.shop.example\"]"]),
            ])
        configuration.upstreams["other"] = "servers: [\"127.0.0.1:\(other.port)\"]"
        gateway = try GatewayProcess(configuration)
    }
}

extension RouteMatchTests {
    private func status(
        _ host: String, _ method: String = "GET", _ target: String = "/x", _ lines: [String] = []
    ) throws -> Int {
        let client = try gateway.connect()
        let fields = (["Host: \(host)"] + lines).map { $0 + "\r\n" }.joined()
        try client.send("\(method) \(target) HTTP/1.1\r\n\(fields)\r\n")
        return try client.receive().status
    }

    @Test("a host has one route in every spelling, and an unknown one has none")
    func hosts() throws {
        for host in ["api.example.com", "API.example.COM.", "api.example.com:8443", "[0::1]:80"] {
            #expect(try status(host) == 200, "\(host)")
        }
        #expect(upstream.requests.map { $0["Host"] }.last == "[0::1]:80")
        #expect(upstream.requests.count == 4)
        #expect(try status("a.b.shop.example") == 200)
        #expect(other.requests.count == 1)
        for host in ["example.com", "shop.example", "api.example.com.evil", "x"] {
            #expect(try status(host) == 404, "\(host)")
        }
        #expect(try status("x", "GET", "http://x/y") == 404)
        #expect(try status("api.example.com", "GET", "http://api.example.com/y") == 200)
        let client = try gateway.connect()
        try client.send("GET /x HTTP/1.0\r\n\r\n")
        #expect(try client.receive().status == 404)
    }

    @Test("a header picks a route for the same host")
    func headers() throws {
        #expect(try status("api.example.com", "GET", "/v", ["x-version: 2"]) == 200)
        #expect(other.requests.map(\.message.startLine) == ["GET /v HTTP/1.1"])
        for line in ["X-Version: 1", "X_Version: 2", "X-Version: 2\r\nX-Version: 2"] {
            #expect(try status("api.example.com", "GET", "/v", [line]) == 200)
        }
        #expect(other.requests.count == 1 && upstream.requests.count == 3)
    }

    @Test("no host and no header lead around a guarded path")
    func guarded() throws {
        for host in ["api.example.com", "a.shop.example", "[::1]", "x"] {
            for lines in [[], ["X-Version: 2"]] {
                for target in ["/api/transfer", "/api/transfer/", "/api/%74ransfer"] {
                    let fields = lines + ["Content-Length: 0"]
                    #expect(try status(host, "POST", target, fields) == 401)
                    #expect(try status(host, "GET", target, lines) == 404)
                }
            }
        }
        #expect(upstream.requests.isEmpty && other.requests.isEmpty)
    }

    @Test("the command tells why")
    func command() throws {
        func told(_ words: String...) throws -> String {
            try BuiltProgram.run(["route", "-c", gateway.configurationPath] + words).standardOutput
        }
        let taken = try told("GET", "https://API.example.com:444/x", "-H", "X-Version: 1")
        #expect(taken.contains("  route api\n  upstream api\n  attest mode off\n"))
        #expect(taken.contains("    api: taken\n"))
        #expect(taken.contains("    beta: needs another value of header x-version\n"))
        #expect(taken.contains("    shop: takes other hosts\n"))
        let none = try told("GET", "/api/transfer", "--header", "Host: api.example.com")
        #expect(none.contains("  no route: 404\n"))
        #expect(none.contains("    transfer: takes other methods\n"))
        #expect(none.contains("    api: its path is less specific\n"))
        #expect(try told("GET", "/x").contains("  no route: 404\n"))
        #expect(try told("GET", "/", "-H", "Host: a b").contains("refused with 400: host_invalid"))
    }
}
