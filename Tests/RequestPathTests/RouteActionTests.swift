import AppAttestTesting
import Attestation
import GatewayTesting
import JSON
import Testing

/// What routes do with a request besides passing it on as it came.
@Suite("What a route does", .enabled(if: BuiltProgram.isBuilt))
struct RouteActionTests {
    private let upstream: RecordingUpstream

    init() throws { upstream = try RecordingUpstream() }
}

extension RouteActionTests {
    private func start(
        _ routes: [GatewayConfiguration.Route],
        _ configure: (inout GatewayConfiguration) -> Void = { _ in }
    ) throws -> GatewayProcess {
        var configuration = GatewayConfiguration(upstreamPort: upstream.port, routes: routes)
        configure(&configuration)
        return try GatewayProcess(configuration)
    }

    private func answer(
        _ gateway: GatewayProcess, _ target: String, method: String = "GET",
        host: String = "api.example.com:8443", lines: [String] = []
    ) throws -> HTTPMessage {
        let client = try gateway.connect()
        let fields = (["Host: \(host)"] + lines).map { $0 + "\r\n" }.joined()
        try client.send("\(method) \(target) HTTP/1.1\r\n\(fields)\r\n")
        return try client.receive(toHEAD: method == "HEAD")
    }

    // MARK: rewriting

    @Test("another prefix goes upstream, the rest of the target byte for byte")
    func prefix() throws {
        let gateway = try start([
            .init("api", path: "/api/v1/*", more: ["rewrite: { prefix: /v2 }"]),
            .init("root", path: "/app/*", more: ["rewrite: { prefix: / }"]),
            .init("one", path: "/login", more: ["rewrite: { path: /auth/login }"]),
            .init("rest", path: "/*"),
        ])
        let expected = [
            ("/api/v1/a%2db/?q=%61&/x", "/v2/a%2db/?q=%61&/x"), ("/%61pi/v1/x", "/v2/x"),
            ("/api/v1/", "/v2/"), ("/api/v1", "/v2"), ("/api/v1?a=/api/v1/", "/v2?a=/api/v1/"),
            ("/api/v1/a;b=c", "/v2/a;b=c"), ("/app/x", "/x"), ("/app", "/"), ("/app?x", "/?x"),
            ("/login", "/auth/login"), ("/login/?a", "/auth/login?a"), ("/api/v10", "/api/v10"),
        ]
        for (target, _) in expected { #expect(try answer(gateway, target).status == 200) }
        #expect(upstream.requests.map(\.message.target) == expected.map(\.1))
    }

    @Test("a prefix whose slashes are spelled in another way is refused")
    func ambiguousPrefix() throws {
        let gateway = try start(
            [
                .init("api", path: "/api/v1/*", more: ["rewrite: { prefix: /v2 }"]),
                .init("rest", path: "/*"),
            ],
            { $0.listenerMore = ["allow: [dot_segments, empty_segments, encoded_slash]"] })
        for target in ["/api//v1/x", "/x/../api/v1/x", "/api%2Fv1/x", "//api/v1/"] {
            #expect(try answer(gateway, target).status == 400, "\(target)")
        }
        #expect(try answer(gateway, "/api/v1/x").status == 200)
        #expect(upstream.requests.map(\.message.target) == ["/v2/x"])
    }

    @Test("the app signs the path that it asked for")
    func signedTarget() throws {
        let gateway = try start([
            .init(
                "api", path: "/api/*", attest: "mode: enforce", more: ["rewrite: { prefix: /in }"])
        ])
        let client = try SimulatedClient.enrolled(gateway)
        #expect(try client.request("GET", "/api/x?y").status == 200)
        let other = try client.signature("GET", "/in/x")
        let refused = try client.raw.exchange("GET", "/api/x", fields: other)
        #expect(refused.outcome == "401 request_mismatch")
        #expect(upstream.requests.map(\.message.target) == ["/in/x?y"])
    }

    // MARK: answers

    @Test("a redirect keeps of the request what it says")
    func redirect() throws {
        func redirecting(_ name: String, _ path: String, _ inside: String)
            -> GatewayConfiguration.Route
        { .init(name, path: path, upstream: "", more: ["redirect: { \(inside) }"]) }
        let gateway = try start([
            redirecting("all", "/*", #"to: "https://{host}{target}", status: 308"#),
            redirecting(
                "old", "/old/*", #"to: "https://new.example/v2/{rest}{query}", status: 301"#),
            redirecting("here", "/here", "to: /there"),
            redirecting("path", "/path", #"to: "http://{host}:81{path}", status: 307"#),
        ])
        let all = try answer(gateway, "/a%20b?c=d")
        #expect(all.status == 308 && all.body.isEmpty)
        #expect(all["Location"] == "https://api.example.com/a%20b?c=d")
        let old = try answer(
            gateway, "/old/x/y?z", method: "POST", lines: ["Content-Length: 9000000"])
        #expect(old.status == 301 && old["Location"] == "https://new.example/v2/x/y?z")
        #expect(try answer(gateway, "/old")["Location"] == "https://new.example/v2/")
        let here = try answer(gateway, "/here?x", method: "HEAD")
        #expect(here.status == 302 && here["Location"] == "/there")
        let path = try answer(gateway, "/path/?q", host: "[::1]:99")
        #expect(path.status == 307 && path["Location"] == "http://[::1]:81/path/")
        #expect(upstream.requests.isEmpty)
        let line = try gateway.accessLine { $0["route"]?.stringValue == "here" }
        #expect(line["decision"]?.stringValue == "answered")
    }

    @Test("a listener sends everything elsewhere, but for what it excepts")
    func listenerRedirect() throws {
        let gateway = try start([.init("rest", path: "/*")]) { configuration in
            configuration.listenerMore = [
                #"redirect: { to: "https://{host}{target}", status: 308, except: [/acme/*, /a] }"#
            ]
        }
        for target in ["/x?y", "/", "/assert/challenge", "/acmes", "/b/../acme", "/aa"] {
            let moved = try answer(gateway, target)
            guard target != "/b/../acme" else {
                #expect(moved.status == 400)
                continue
            }
            #expect(moved.status == 308)
            #expect(moved["Location"] == "https://api.example.com" + target)
        }
        for target in ["/acme/x", "/acme", "/%61cme/x", "/a", "/a/"] {
            #expect(try answer(gateway, target).status == 200, "\(target)")
        }
        #expect(upstream.requests.count == 5)
        let told = try BuiltProgram.run(["route", "-c", gateway.configurationPath, "GET", "/x"])
        #expect(told.standardOutput.contains("  redirect 308 to https://{host}{target}\n"))
    }

    @Test("a fixed answer, which may ask for an assertion first")
    func respond() throws {
        let gateway = try start([
            .init(
                "teapot", path: "/teapot", upstream: "",
                more: [
                    #"respond: { status: 418, body: '{"a":1}', content_type: application/json }"#,
                    #"response_headers: { set: { X-Route: "{host} {client_address}" } }"#,
                ]),
            .init("gone", path: "/gone", upstream: "", more: ["respond: { status: 204 }"]),
            .init(
                "guarded", path: "/guarded", upstream: "", attest: "mode: enforce",
                more: ["respond: { status: 200, body: proved }"]),
        ])
        let teapot = try answer(gateway, "/teapot")
        #expect(teapot.status == 418 && teapot.bodyText == #"{"a":1}"#)
        #expect(teapot.values(of: "Content-Type") == ["application/json"])
        #expect(teapot["X-Route"] == "api.example.com 127.0.0.1")
        #expect(try answer(gateway, "/teapot", method: "HEAD")["Content-Length"] == "7")
        let gone = try answer(gateway, "/gone")
        #expect(gone.status == 204 && gone["Content-Length"] == nil && gone["Content-Type"] == nil)
        #expect(try answer(gateway, "/guarded").status == 401)
        let client = try SimulatedClient.enrolled(gateway)
        let proved = try client.request("GET", "/guarded")
        #expect(proved.status == 200 && proved.bodyText == "proved")
        #expect(proved["X-App-Attest-Challenge"] != nil)
        let line = try gateway.accessLine {
            $0["route"]?.stringValue == "guarded" && $0["decision"]?.stringValue == "verified"
        }
        #expect(line["reason"]?.stringValue == "ok")
    }

    // MARK: headers

    @Test("the client's address is the one that trusted proxies name")
    func clientAddress() throws {
        let gateway = try start([
            .init(
                "all", path: "/*",
                more: [#"request_headers: { set: { X-Client: "{client_address}" } }"#])
        ]) { $0.listenerMore = ["trusted_proxies: [127.0.0.0/8]"] }
        let cases = [
            ([], "127.0.0.1"),
            (["X-Forwarded-For: 1.1.1.1, 2001:db8::1, 127.0.0.9"], "2001:db8::1"),
            ([#"Forwarded: for=1.1.1.1, for="[2001:db8::1]:80""#], "2001:db8::1"),
            (["X-Forwarded-For: 1.1.1.1", "Forwarded: for=2.2.2.2"], "127.0.0.1"),
        ]
        for (lines, _) in cases {
            #expect(try answer(gateway, "/x", lines: lines).status == 200)
        }
        #expect(upstream.requests.map { $0.message["X-Client"] } == cases.map(\.1))
    }

    @Test("Max-Forwards of OPTIONS is counted down, and ends here at nothing")
    func maxForwards() throws {
        let gateway = try start([.init("all", path: "/*")])
        for (method, count) in [("OPTIONS", "3"), ("GET", "3"), ("OPTIONS", "0"), ("GET", "0")] {
            let lines = ["Max-Forwards: \(count)"]
            #expect(try answer(gateway, "/x", method: method, lines: lines).status == 200)
        }
        #expect(upstream.requests.map { $0.message["Max-Forwards"] } == ["2", "3", "0"])
    }

    @Test("headers are set, added and removed on their way to the upstream")
    func requestHeaders() throws {
        let gateway = try start([
            .init(
                "all", path: "/*",
                more: [
                    "upstream_host: in.example:81", "request_headers:",
                    "  remove: [Cookie, X-Gone]",
                    "  set:", #"    X-Real-IP: "{client_address}""#,
                    #"    X-Id: "{request_id}""#, "    User-Agent: us",
                    #"  add: { Via: "1.1 {host}", X-Braces: "{{}" }"#,
                ])
        ])
        let lines = [
            "Cookie: a", "x_gone: 1", "X-GONE: 2", "X-Real-IP: 6.6.6.6", "x_real_ip: 6.6.6.6",
            "User-Agent: them", "Via: 1.0 them", "X-Stays: 1",
        ]
        #expect(try answer(gateway, "/x", lines: lines).status == 200)
        let seen = try #require(upstream.requests.first).message
        #expect(seen["Host"] == "in.example:81")
        #expect(seen.values(of: "X-Forwarded-Host") == ["api.example.com:8443"])
        #expect(seen.values(of: "X-Real-IP") == ["127.0.0.1"])
        #expect(seen.values(of: "User-Agent") == ["us"])
        #expect(seen["X-Id"] == seen["X-Request-Id"])
        let hops = seen.values(of: "Via")
        #expect(hops.count == 3 && hops.first == "1.0 them" && hops.last == "1.1 api.example.com")
        #expect(seen["X-Braces"] == "{}" && seen["X-Stays"] == "1")
        let names = seen.fields.map { $0.name.lowercased().replacing("_", with: "-") }
        #expect(!names.contains("cookie") && !names.contains("x-gone"))
        #expect(names.filter { $0 == "x-real-ip" }.count == 1)
    }

    @Test("headers are set, added and removed on their way back, also for a verified key")
    func responseHeaders() throws {
        upstream.answer { _ in
            .raw(
                "HTTP/1.1 103 Early Hints\r\nServer: s\r\nLink: l\r\n\r\n"
                    + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nServer: s\r\nX-Powered-By: p\r\n"
                    + "Cache-Control: public\r\nVary: a\r\n\r\n")
        }
        let gateway = try start([
            .init(
                "all", path: "/*", attest: "mode: observe",
                more: [
                    "response_headers:", "  remove: [server, x_powered_by]",
                    #"  set: { Cache-Control: no-store, X-Key: "{key_id}" }"#,
                    "  add: { Vary: b, Strict-Transport-Security: max-age=1 }",
                ])
        ])
        let client = try SimulatedClient.enrolled(gateway)
        try client.raw.send("GET", "/x", fields: client.signature("GET", "/x"))
        let hints = try client.raw.receiveAny()
        #expect(hints.status == 103 && hints["Server"] == nil && hints["Link"] == "l")
        #expect(hints["Strict-Transport-Security"] == nil)
        let final = try client.raw.receive()
        #expect(final.status == 200)
        #expect(final["Server"] == nil && final["X-Powered-By"] == nil)
        #expect(final.values(of: "Cache-Control") == ["no-store"])
        #expect(final.values(of: "Vary") == ["a", "b"])
        #expect(final["Strict-Transport-Security"] == "max-age=1")
        #expect(final["X-Key"] == client.device.keyID.base64)
        #expect(final["Date"] != nil)
    }

    @Test("the upstream's own name, for servers that look at Host")
    func upstreamHost() throws {
        let gateway = try start([.init("all", path: "/*", more: ["upstream_host: upstream"])])
        #expect(try answer(gateway, "/x").status == 200)
        #expect(upstream.requests.first?["Host"] == "127.0.0.1:\(upstream.port)")
    }

    @Test("curl follows a redirect, with its body, to a host that is rewritten")
    func curl() throws {
        let gateway = try start([
            .init(
                "old", path: "/old/*", upstream: "",
                more: ["redirect: { to: \"/v2/{rest}{query}\", status: 308 }"]),
            .init(
                "api", path: "/v2/*",
                more: [
                    "hosts: [api.example]", "rewrite: { prefix: / }", "upstream_host: in.example",
                ]),
        ])
        let authority = "api.example:\(gateway.port)"
        let outcome = try ChildProcess.run(
            "/usr/bin/curl",
            [
                "-sS", "-L", "--resolve", authority + ":127.0.0.1", "-d", "a=b", "-w",
                " %{http_code} %{num_redirects}", "http://API.example.:\(gateway.port)/old/x?y=%7a",
                "--resolve", "API.example.:\(gateway.port):127.0.0.1",
            ])
        #expect(outcome.standardOutput.hasSuffix(" 200 1"), "\(outcome)")
        let seen = try #require(upstream.requests.first)
        #expect(seen.message.startLine == "POST /x?y=%7a HTTP/1.1")
        #expect(seen["Host"] == "in.example" && seen.message.bodyText == "a=b")
    }

    // MARK: limits and time-outs

    @Test("a route has limits and time-outs of its own")
    func overrides() throws {
        let gateway = try start([
            .init(
                "small", path: "/small", more: ["limits: { body: 4B, body_memory: 1KiB }"]),
            .init(
                "hasty", path: "/hasty",
                more: ["timeouts: { response: 200ms, request_body: 200ms }"]),
            .init("due", path: "/due", more: ["timeouts: { request: 200ms }"]),
            .init("still", path: "/still", more: ["timeouts: { read: 200ms }"]),
            .init("rest", path: "/*"),
        ])
        #expect(
            try answer(gateway, "/small", method: "POST", lines: ["Content-Length: 5"]).status
                == 413)
        #expect(
            try answer(gateway, "/hasty", method: "POST", lines: ["Content-Length: 5"]).status
                == 408)
        let gate = Gate()
        upstream.answer { _ in .response(after: gate) }
        #expect(try answer(gateway, "/hasty").status == 504)
        #expect(try answer(gateway, "/due").status == 504)
        upstream.answer { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf") }
        #expect(throws: RawSocketError.self) { try answer(gateway, "/still") }
        gate.open()
    }
}
