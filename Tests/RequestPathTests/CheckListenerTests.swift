import AppAttestTesting
import Attestation
import Bytes
import Crypto
import GatewayTesting
import JSON
import Testing

/// Questions of a proxy, sent as each dialect has them.
@Suite("A check listener", .enabled(if: BuiltProgram.isBuilt))
struct CheckListenerTests {
    typealias Fields = [(String, String)]

    let upstream: RecordingUpstream
    let gateway: GatewayProcess
    let port: UInt16

    init(
        _ dialect: String, attest: String = "mode: enforce", from: String = "127.0.0.1",
        trusted: Bool = false, routes: [GatewayConfiguration.Route] = []
    ) throws {
        upstream = try RecordingUpstream()
        port = FreePort.find()
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port, attest: attest)
        configuration.binds = [
            GatewayConfiguration.checkListener(
                dialect, port: port, from: from,
                more: trusted ? ["trusted_proxies: [127.0.0.1]"] : [])
        ]
        configuration.routes.insert(contentsOf: routes, at: 0)
        gateway = try GatewayProcess(configuration)
    }

    init() throws { try self.init("nginx") }
}

extension CheckListenerTests {
    /// What a proxy of that dialect sends about a request.
    func question(
        _ dialect: String, _ method: String, _ target: String, _ fields: Fields,
        length: Int? = nil
    ) -> (method: String, target: String, fields: Fields) {
        let announced = length.map { "\($0)" }
        switch dialect {
        case "nginx":
            let own: Fields = [
                ("X-Original-Method", method), ("X-Original-URI", target),
                ("X-Original-Host", "api.example"),
            ]
            let body = announced.map { [("X-Original-Content-Length", $0)] } ?? []
            return ("GET", "/check", fields + own + body)
        case "forward":
            let own: Fields = [
                ("X-Forwarded-Method", method), ("X-Forwarded-Uri", target),
                ("X-Forwarded-Host", "api.example"),
            ]
            let body = announced.map { [("X-Forwarded-Content-Length", $0)] } ?? []
            return ("GET", "/check", fields + own + body)
        default: return (method, "/check" + target, fields)
        }
    }

    func ask(
        _ dialect: String, _ method: String, _ target: String, _ fields: Fields = [],
        length: Int? = nil, body: [UInt8] = []
    ) throws -> HTTPMessage {
        let call = question(dialect, method, target, fields, length: length)
        return try RawClient(port: port).exchange(
            call.method, call.target, fields: call.fields, body: body)
    }

    @Test(
        "allows what is proved, once, and says what an upstream would hear",
        arguments: ["nginx", "forward", "envoy"])
    func allowed(dialect: String) throws {
        let site = try CheckListenerTests(dialect)
        let app = try SimulatedClient.enrolled(site.gateway)
        let fields = try app.signature("GET", "/api/x?to=7", query: "to=7")
        let answer = try site.ask(dialect, "GET", "/api/x?to=7", fields)
        #expect(answer.status == 200 && answer.body.isEmpty)
        #expect(answer["X-Attest-Result"] == "verified")
        #expect(answer["X-Attest-Key"] == app.device.keyID.base64)
        #expect(answer["X-Attest-App"] == GatewayConfiguration.appID)
        #expect(answer["X-Attest-Tier"] == "attested")
        #expect(answer["X-Attest-Body"] == "verified")
        #expect(answer.nextChallenge != nil)
        // The same again, as a proxy does that asks twice.
        #expect(
            try site.ask(dialect, "GET", "/api/x?to=7", fields).outcome == "401 assertion_replayed")
        let other = try app.signature("GET", "/api/x")
        #expect(try site.ask(dialect, "GET", "/api/y", other).outcome == "401 request_mismatch")
        #expect(try site.ask(dialect, "GET", "/api/x").outcome == "401 assertion_required")
        #expect(try site.ask(dialect, "GET", "/open").outcome == "200")
        #expect(site.upstream.requests.isEmpty)
    }

    @Test("tells its proxy which header of its dialect is missing or wrong, and nobody else")
    func faults() throws {
        func detail(_ fields: Fields, _ port: UInt16) throws -> String {
            let answer = try RawClient(port: port).exchange("GET", "/check", fields: fields)
            #expect(answer.status == 400 || answer.status == 404)
            return try JSONValue.parse(answer.bodyText)["detail"]?.stringValue ?? ""
        }
        let method: Fields = [("X-Original-Method", "GET")]
        #expect(try detail([], port) == "X-Original-Method is missing (dialect nginx).")
        #expect(try detail(method, port) == "X-Original-URI is missing (dialect nginx).")
        #expect(
            try detail(method + method, port)
                == "X-Original-Method is repeated or empty (dialect nginx).")
        let length = ("X-Original-Content-Length", "x")
        #expect(
            try detail(method + [("X-Original-URI", "/api/x"), length], port)
                == "X-Original-Content-Length is repeated or no number (dialect nginx).")
        let forward = try CheckListenerTests("forward")
        let other: Fields = [("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/api/x")]
        #expect(
            try detail(other, forward.port) == "X-Forwarded-Host is missing (dialect forward).")
        let strange = try CheckListenerTests("nginx", from: "192.0.2.1")
        #expect(try !detail([], strange.port).contains("nginx"))
    }

    @Test("refuses as a request itself would be, with what the proxy hands on")
    func refused() throws {
        let answer = try ask("nginx", "POST", "/api/x", length: 0)
        #expect(answer.outcome == "401 assertion_required")
        #expect(answer["WWW-Authenticate"] == "AppAttest error=\"assertion_required\"")
        #expect(answer.nextChallenge != nil)
        #expect(answer["X-App-Attest-Problem"] == answer.bodyText)
        // A HEAD of the client's is no HEAD of the proxy's.
        let head = try ask("nginx", "HEAD", "/api/x")
        #expect(head.outcome == "401 assertion_required" && !head.body.isEmpty)
    }

    @Test(
        "hears what a request says of a failure in its app, once, and hands nothing of it on",
        arguments: ["nginx", "forward", "envoy"])
    func failure(dialect: String) throws {
        let site = try CheckListenerTests(dialect)
        let report = ("X-App-Attest-Failure", "phase=assert;code=invalidKey;os=27.1;try=2")
        let refused = try site.ask(dialect, "GET", "/api/x", [report])
        #expect(refused.outcome == "401 assertion_required")
        #expect(refused["X-App-Attest-Failure"] == nil)
        let name = "sallyport_client_failures_total"
        let labels = #"{phase="assert",code="invalidKey",os="27.1"}"#
        #expect(try site.gateway.metric(name + labels) == 1)
    }

    @Test(
        "takes no request target for good that would be refused if it came itself",
        arguments: ["/api/../open", "//api/x", "/api%2Fx", "api/x", "/api/x HTTP/1.1", "/api/x#y"])
    func ambiguous(target: String) throws {
        #expect(try ask("nginx", "GET", target).status == 400)
    }

    @Test(
        "refuses a question of which a part is missing or doubled",
        arguments: ["X-Original-Method", "X-Original-URI", "X-Original-Host", "X_Original_URI"])
    func doubled(name: String) throws {
        let call = question("nginx", "GET", "/api/x", [])
        let doubled = try RawClient(port: port).exchange(
            "GET", "/check", fields: call.fields + [(name, "/open")])
        #expect(doubled.outcome == "400 bad_request")
        guard name != "X-Original-Host", name != "X_Original_URI" else { return }
        let missing = try RawClient(port: port).exchange(
            "GET", "/check", fields: call.fields.filter { $0.0 != name })
        #expect(missing.outcome == "400 bad_request")
    }

    @Test(
        "never takes a body for good that it was not shown",
        arguments: ["nginx", "forward", "envoy"])
    func hidden(dialect: String) throws {
        let site = try CheckListenerTests(dialect)
        let app = try SimulatedClient.enrolled(site.gateway)
        let body = Array("{}".utf8)
        let fields = try app.signature("POST", "/api/x", body: body)
        for length in [2, nil] {
            let answer = try site.ask(dialect, "POST", "/api/x", fields, length: length)
            #expect(answer.outcome == "403 body_unavailable")
            #expect(answer.action == "none")
        }
        // What is announced as empty is judged as empty.
        if dialect != "envoy" {
            let empty = try site.ask(dialect, "POST", "/api/x", fields, length: 0)
            #expect(empty.outcome == "401 body_mismatch")
        }
        // Nothing of the assertion was spent.
        let raw = try app.raw.exchange("POST", "/api/x", fields: fields, body: body)
        #expect(raw.status == 200)
    }

    @Test("leaves the comparison of a hidden body to the upstream where the route says so")
    func claimed() throws {
        let site = try CheckListenerTests("nginx", attest: "mode: enforce, body: claimed")
        let app = try SimulatedClient.enrolled(site.gateway)
        let body = Array("{\"amount\":1}".utf8)
        let fields = try app.signature("POST", "/api/x", body: body)
        let answer = try site.ask("nginx", "POST", "/api/x", fields, length: body.count)
        #expect(answer.status == 200 && answer["X-Attest-Result"] == "verified")
        #expect(answer["X-Attest-Body"] == "claimed")
        #expect(answer["X-Attest-Body-SHA256"] == Base64.encode(SHA256.hash(body).array))
        // A request that comes itself is compared all the same.
        let other = try app.signature("POST", "/api/x", body: body)
        let raw = try app.raw.exchange("POST", "/api/x", fields: other, body: Array("{}".utf8))
        #expect(raw.outcome == "401 body_mismatch")
    }

    @Test("compares a body that Envoy shows, and takes no part of one for the whole")
    func shown() throws {
        let site = try CheckListenerTests("envoy")
        let app = try SimulatedClient.enrolled(site.gateway)
        let body = Array("{\"amount\":1}".utf8)
        let fields = try app.signature("POST", "/api/x", body: body)
        let whole = ("X-Envoy-Auth-Partial-Body", "false")
        #expect(
            try site.ask(
                "envoy", "POST", "/api/x", fields + [("X-Envoy-Auth-Partial-Body", "true")],
                body: Array(body.prefix(3))
            ).outcome == "403 body_unavailable")
        #expect(
            try site.ask("envoy", "POST", "/api/x", fields + [whole], body: Array("{}".utf8))
                .outcome == "401 body_mismatch")
        // The call's own length is that of the body.
        for part in [[], Array(body.prefix(3))] {
            #expect(
                try site.ask("envoy", "POST", "/api/x", fields + [whole], body: part).outcome
                    == "401 body_mismatch")
        }
        let answer = try site.ask("envoy", "POST", "/api/x", fields + [whole], body: body)
        #expect(answer.status == 200 && answer["X-Attest-Body"] == "verified")
    }

    @Test("takes no part of a body that is not shown for the proxy's next call")
    func smuggled() throws {
        let site = try CheckListenerTests("envoy")
        let host = "Host: api.example\r\n"
        let hidden = "GET /check/api/y HTTP/1.1\r\n\(host)\r\n"
        let chunked = "\(String(hidden.utf8.count, radix: 16))\r\n\(hidden)\r\n0\r\n\r\n"
        var count = 0
        for partial in ["X-Envoy-Auth-Partial-Body: true\r\n", ""] {
            for body in [
                "Content-Length: \(hidden.utf8.count)\r\n\r\n\(hidden)",
                "Transfer-Encoding: chunked\r\n\r\n\(chunked)",
            ] {
                let client = try RawClient(port: site.port)
                try client.send(
                    "POST /check/api/x HTTP/1.1\r\n\(host)\(partial)\(body)"
                        + "GET /check/open HTTP/1.1\r\n\(host)\r\n")
                #expect(try client.receive().status / 100 == 4)
                // Where the body is not read to its end the connection ends.
                guard let next = try? client.receive() else { continue }
                #expect(next.status == 200)
                count += 1
            }
        }
        #expect(count > 0)
    }

    @Test("answers nobody else, and nothing but questions and the gateway's endpoints")
    func strangers() throws {
        let closed = try CheckListenerTests("nginx", from: "10.0.0.0/8")
        #expect(try closed.ask("nginx", "GET", "/open").outcome == "404 not_found")
        let client = try RawClient(port: port)
        #expect(try client.exchange("GET", "/assert/challenge").status == 200)
        #expect(try client.exchange("GET", "/open").outcome == "404 not_found")
        #expect(try client.exchange("GET", "/checked").outcome == "404 not_found")
        // An endpoint is called, not asked about.
        let own = try ask("nginx", "GET", "/assert/challenge")
        #expect(own.outcome == "404 not_found")
        #expect(own.bodyText.contains("send the request itself to the listener"))
        let body = try client.exchange(
            "POST", "/check", fields: question("nginx", "GET", "/open", []).fields,
            body: Array("x".utf8))
        #expect(body.outcome == "400 bad_request")
        #expect(upstream.requests.isEmpty)
    }

    @Test(
        "answers by its own request id where the request that is asked about cannot be read",
        arguments: ["/api/x#y", "/" + String(repeating: "a", count: 9000)])
    func requestID(target: String) throws {
        let site = try CheckListenerTests("nginx", trusted: true)
        let fields: Fields = [
            ("X-Request-Id", String(repeating: "r", count: 128)), ("X-One", "1"),
            ("X-Attest-Result", "verified"), ("Set-Cookie", "evil=1"),
        ]
        let answer = try site.ask("nginx", "GET", target, fields)
        #expect([400, 414].contains(answer.status))
        #expect(answer["X-Request-Id"]?.count == 32)
        #expect(answer["Set-Cookie"] == nil && answer["X-Attest-Result"] == nil)
        #expect(try site.ask("nginx", "GET", "/open").status == 200)
        #expect(site.gateway.isUnharmed)
    }

    @Test("allows nothing that the gateway itself would answer")
    func ownAnswers() throws {
        let site = try CheckListenerTests(
            "nginx",
            routes: [
                .init(
                    "denied", path: "/denied", upstream: "", more: ["respond: { status: 403 }"]),
                .init("fine", path: "/fine", upstream: "", more: ["respond: { status: 200 }"]),
                .init("moved", path: "/moved", upstream: "", more: ["redirect: { to: /x }"]),
            ])
        #expect(try site.ask("nginx", "GET", "/denied").status == 403)
        #expect(try site.ask("nginx", "GET", "/fine").outcome == "404 not_found")
        #expect(try site.ask("nginx", "GET", "/moved").status == 302)
        #expect(try site.ask("nginx", "OPTIONS", "*").outcome == "404 not_found")
    }

    @Test("logs the request that was asked about, and that it was")
    func logged() throws {
        _ = try ask("nginx", "DELETE", "/api/x?secret=1", [("User-Agent", "app/1")])
        let line = try gateway.accessLine { $0["path"]?.stringValue == "/api/x" }
        #expect(line["method"]?.stringValue == "DELETE")
        #expect(line["host"]?.stringValue == "api.example")
        #expect(line["check"]?.stringValue == "nginx")
        #expect(line["decision"]?.stringValue == "refused")
    }
}
