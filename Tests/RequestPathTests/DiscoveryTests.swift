import GatewayTesting
import JSON
import Testing

/// `/.well-known/app-attest`: what clients have to know, and no more.
@Suite("The discovery document", .enabled(if: BuiltProgram.isBuilt))
struct DiscoveryTests {
    private static let path = "/.well-known/app-attest"
    private let upstream: RecordingUpstream

    private let directory: ScratchDirectory

    init() throws {
        upstream = try RecordingUpstream()
        directory = try ScratchDirectory()
    }
}

extension DiscoveryTests {
    private func configuration(_ attest: String = "mode: enforce") -> GatewayConfiguration {
        .enforcing(upstreamPort: upstream.port, attest: attest)
    }

    private func document(_ answer: HTTPMessage) throws -> JSONValue {
        #expect(answer.status == 200)
        #expect(answer["Content-Type"] == "application/json")
        #expect(answer["Cache-Control"] == "public, max-age=300")
        return try JSONValue.parse(answer.bodyText)
    }

    private func document(host: String, _ gateway: GatewayProcess) throws -> JSONValue {
        let client = try gateway.connect()
        try client.send("GET \(Self.path) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        return try document(try client.receive())
    }

    @Test("tells names, paths, lifetimes and shapes")
    func members() throws {
        let gateway = try GatewayProcess(configuration())
        let answer = try gateway.exchange("GET", Self.path)
        #expect(
            try document(answer)
                == JSONValue.parse(
                    """
                    {"format":1,"base":"/","endpoints":{
                    "attestation_challenge":"/attest/challenge","attestation":"/attest/verify",
                    "failure":"/attest/failure","assertion_challenge":"/assert/challenge"},
                    "headers":{"assertion":"x-app-attest-assertion",
                    "client_data":"x-app-attest-client-data","key_id":"x-app-attest-key-id",
                    "token":"x-app-attest-token","device_check":"x-device-check-token",
                    "challenge":"x-app-attest-challenge","action":"x-app-attest-action",
                    "failure":"x-app-attest-failure"},
                    "lifetimes":{"assertion_challenge":120,"attestation_challenge":86400},
                    "enrolment_device_check":false,
                    "shapes":[{"accept":["assertion"],"client_data":"header",
                    "challenge":"required","replay":"strict"}]}
                    """))
        #expect(upstream.requests.isEmpty)
        #expect(
            try gateway.metric(
                "sallyport_requests_total{route=\".well-known/app-attest\","
                    + "decision=\"answered\",reason=\"ok\"}") == 1)
    }

    @Test("is at the root, wherever the endpoints and whatever the headers are")
    func moved() throws {
        var configuration = configuration(
            "mode: enforce, accept: [assertion, token, developer, device_check], "
                + "replay: { window: 32 }, rollout: 20%")
        configuration.routes += [
            .init("look", path: "/looked-at/*", attest: "mode: observe, client_data: header"),
            .init(
                "older", path: "/older/*",
                attest: "mode: enforce, client_data: body, challenge: off, replay: durable, "
                    + "challenge_member: nonce, key_id_member: kid"),
        ]
        configuration.more = [
            "endpoints: { base: /gate }", "headers: { assertion: X-Proof }",
            "challenge: { ttl: 30s, attestation_ttl: 1h }",
            "session_tokens: { ttl: 60s, bind_to: Authorization }",
        ]
        let apple = try AppleServer()
        configuration.more += [try apple.settings, "device_check: {}"]
        let gateway = try GatewayProcess(configuration)
        let found = try document(try gateway.exchange("GET", Self.path))
        #expect(found["base"]?.stringValue == "/gate/")
        #expect(found["endpoints"]?["session_token"]?.stringValue == "/gate/assert/token")
        #expect(found["headers"]?["assertion"]?.stringValue == "x-proof")
        #expect(found["lifetimes"]?["assertion_challenge"]?.integerValue == 30)
        #expect(found["lifetimes"]?["attestation_challenge"]?.integerValue == 3600)
        #expect(found["lifetimes"]?["session_token"]?.integerValue == 60)
        #expect(found["session_token_bound_to"]?.stringValue == "authorization")
        let shapes = try #require(found["shapes"]?.arrayValue)
        let expected = try JSONValue.parse(
            """
            [{"accept":["assertion"],"client_data":"body","challenge":"off","replay":"durable",
            "challenge_member":"nonce","key_id_member":"kid"},
            {"accept":["assertion"],"client_data":"header","challenge":"required",
            "replay":"strict"},
            {"accept":["assertion","token","device_check","developer"],"client_data":"header",
            "challenge":"required","replay":"window","window":32}]
            """)
        #expect(shapes == expected.arrayValue)
        // Whether a route enforces, for whom, and where it is, shows whoever looks for a weak one.
        let text = try gateway.exchange("GET", Self.path).bodyText
        for word in ["observe", "enforce", "rollout", "older", "look", "/api"] {
            #expect(!text.contains(word), "\(word)")
        }
        #expect(try gateway.exchange("GET", "/gate" + Self.path).status == 200)
        #expect(upstream.requests.map(\.message.target) == ["/gate" + Self.path])
    }

    @Test("tells a host what its routes take")
    func hosts() throws {
        var configuration = GatewayConfiguration(
            upstreamPort: upstream.port,
            routes: [
                .init("all", path: "/*", attest: "mode: enforce"),
                .init(
                    "shop", path: "/shop/*", attest: "mode: enforce, replay: { window: 8 }",
                    more: ["hosts: [\"*.example.com\"]", "allow_weaker: true"]),
                .init(
                    "old", path: "/old/*", attest: "mode: enforce, client_data: body",
                    more: ["hosts: [old.example.com]", "allow_weaker: true"]),
            ])
        configuration.upstreams["api"] = "servers: [\"127.0.0.1:\(upstream.port)\"]"
        let gateway = try GatewayProcess(configuration)
        func kinds(_ host: String) throws -> [String] {
            try document(host: host, gateway)["shapes"]?.arrayValue?.map {
                "\($0["client_data"]?.stringValue ?? "")-\($0["replay"]?.stringValue ?? "")"
            } ?? []
        }
        #expect(try kinds("elsewhere.test") == ["header-strict"])
        #expect(try kinds("API.example.com:443") == ["header-strict", "header-window"])
        #expect(
            try kinds("old.example.com") == ["body-strict", "header-strict", "header-window"])
    }

    @Test("is one path; everything else that is well known goes upstream")
    func others() throws {
        let gateway = try GatewayProcess(configuration())
        for target in ["/.well-known/", "/.well-known/app-attest/x", "/.well-known/app-attestx"] {
            #expect(try gateway.exchange("GET", target).status == 200)
        }
        #expect(upstream.requests.count == 3)
        // Spelled otherwise it is the same path.
        _ = try document(try gateway.exchange("GET", "/.well%2Dknown/app-attest?x=1"))
        let outcome = try BuiltProgram.run([
            "route", "-c", gateway.configurationPath, "GET",
            "https://api.example.com/.well-known/app-attest",
        ])
        #expect(outcome.standardOutput.contains("the gateway itself: .well-known/app-attest"))
    }

    @Test("takes GET and HEAD, in either version of HTTP, on check listeners too")
    func methods() throws {
        var configuration = configuration()
        let check = FreePort.find()
        configuration.speakHTTP2()
        configuration.binds = [GatewayConfiguration.checkListener("forward", port: check)]
        let gateway = try GatewayProcess(configuration)
        let whole = try gateway.exchange("GET", Self.path)
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
            let answer = try gateway.exchange(method, Self.path)
            #expect(answer.outcome == "405 method_not_allowed", "\(method)")
            #expect(answer["Allow"] == "GET, HEAD")
        }
        let client = try gateway.connect()
        try client.send("HEAD \(Self.path) HTTP/1.1\r\nHost: a\r\n\r\n")
        let head = try client.receive(toHEAD: true)
        #expect(head.status == 200 && head["Content-Length"] == "\(whole.body.count)")
        let second = try HTTP2Client(port: gateway.port).exchange(1, "GET", Self.path)
        #expect(second.status == 200 && second.bodyText == whole.bodyText)
        let asked = try RawClient(port: check).exchange("GET", Self.path)
        #expect(asked.bodyText == whole.bodyText)
        // It is asked itself, not about.
        let question = try RawClient(port: check).exchange(
            "GET", "/check",
            fields: [
                ("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", Self.path),
                ("X-Forwarded-Host", "api.example"),
            ])
        #expect(question.status == 404)
        #expect(upstream.requests.isEmpty)
    }

    @Test("is where refusals lead that a client can mend, and no route may stand in its place")
    func links() throws {
        let gateway = try GatewayProcess(configuration())
        let refused = try gateway.exchange("GET", "/api/x")
        #expect(refused.status == 401)
        #expect(refused["Link"] == "</.well-known/app-attest>; rel=\"service-meta\"")
        #expect(try gateway.exchange("POST", "/attest/challenge").status == 200)
        #expect(try gateway.exchange("PUT", "/attest/challenge")["Link"] == nil)
        var wrong = configuration()
        wrong.routes.append(.init("own", path: "/.well-known/app-attest"))
        let path = try directory.write(
            wrong.text(port: 1, adminPort: 2, directory: directory.path), to: "wrong.yaml")
        let outcome = try BuiltProgram.run(["check", "-c", path])
        #expect(outcome.status == .exited(78))
        #expect(outcome.standardError.contains("never matches: the gateway answers"))
    }
}
