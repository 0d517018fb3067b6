import AppAttestTesting
import GatewayTesting
import JSON
import Testing

/// What a proxy has left in a request that it asks about, and the API must not get.
extension CheckListenerTests {
    /// Names that ask an API for another method or path, or that some API reads as one that only
    /// the gateway or a proxy may say.
    private static let names = [
        "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL",
        "X-Rewrite-URL", "X_HTTP_Method_Override", "x.rewrite.url", "X.Attest.Result",
        "X_Attest-Key", "X-App_Attest-Assertion", "X_Forwarded_For", "X.Real.IP",
    ]

    @Test(
        "refuses what its proxy has left in the request, on every route",
        arguments: ["nginx", "forward"], Self.names)
    func unwanted(dialect: String, name: String) throws {
        let site = try CheckListenerTests(dialect)
        for method in ["GET", "POST"] {
            let answer = try site.ask(dialect, method, "/open", [(name, "DELETE")], length: 0)
            #expect(answer.outcome == "400 bad_request", "\(method)")
            #expect(answer.bodyText.contains("before it asks"))
            #expect(try site.ask(dialect, method, "/open", length: 0).status == 200)
        }
        let app = try SimulatedClient.enrolled(site.gateway)
        let fields = try app.signature("GET", "/api/x")
        let refused = try site.ask(dialect, "GET", "/api/x", fields + [(name, "DELETE")])
        #expect(refused.outcome == "400 bad_request")
        _ = try site.gateway.accessLine { $0["detail"]?.stringValue == "check_unwanted" }
        // Nothing of the assertion was spent; and what a proxy replaces may be there.
        let replaced: Fields = [("X-Attest-Result", "forged"), ("X-Forwarded-For", "192.0.2.1")]
        #expect(try site.ask(dialect, "GET", "/api/x", fields + replaced).status == 200)
    }

    @Test("tells Envoy what to remove, also of what it does not show")
    func removed() throws {
        let site = try CheckListenerTests("envoy")
        func removed(_ fields: Fields) throws -> Set<String> {
            let answer = try site.ask("envoy", "GET", "/open", fields)
            #expect(answer.status == 200)
            let names = answer["X-Envoy-Auth-Headers-To-Remove"] ?? ""
            return Set(names.split(separator: ",").map(String.init))
        }
        let overriding = Set(Self.names[..<5].map { $0.lowercased() })
        #expect(try removed([]) == overriding)
        let shown = Self.names.map { ($0, "DELETE") } + [("X-Attest-Risk", "0"), ("X-Own", "1")]
        #expect(
            try removed(shown)
                == Set(Self.names.map { $0.lowercased() }).union(["x-attest-risk"]))
        let app = try SimulatedClient.enrolled(site.gateway)
        let fields = try app.signature("GET", "/api/x") + [("X-Attest-Result", "forged")]
        let passed = try site.ask("envoy", "GET", "/api/x", fields)
        // Envoy removes after it has set.
        let names = passed["X-Envoy-Auth-Headers-To-Remove"]?.split(separator: ",") ?? []
        #expect(names.contains("x-app-attest-assertion") && !names.contains("x-attest-result"))
        let refused = try site.ask("envoy", "GET", "/api/x")
        #expect(refused["X-Envoy-Auth-Headers-To-Remove"] == nil)
    }

    @Test("takes a header that the settings name, however they spell it")
    func named() throws {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        let port = FreePort.find()
        configuration.binds = [GatewayConfiguration.checkListener("nginx", port: port)]
        configuration.more.append("headers: { assertion: App_Proof, key_id: App.Key }")
        let gateway = try GatewayProcess(configuration)
        let call = question("nginx", "GET", "/api/x", [("App_Proof", "AA"), ("APP.KEY", "AA")])
        let answer = try RawClient(port: port).exchange("GET", "/check", fields: call.fields)
        #expect(answer.status == 401)
        let other = try RawClient(port: port).exchange(
            "GET", "/check", fields: call.fields + [("App-Key", "AA"), ("App.Proof", "AA")])
        #expect(other.outcome == "400 bad_request")
        #expect(gateway.isUnharmed)
    }

    @Test(
        "believes no spelling of a header that its proxy does not write",
        arguments: [
            "X.Forwarded.Content-Length", "X_Forwarded_Content_Length",
            "X-Forwarded-Content_Length",
        ])
    func spelled(name: String) throws {
        let site = try CheckListenerTests("forward")
        let app = try SimulatedClient.enrolled(site.gateway)
        // Behind the signature of no body the proxy would forward one.
        let fields = try app.signature("POST", "/api/x")
        let answer = try site.ask("forward", "POST", "/api/x", fields + [(name, "0")])
        #expect(answer.outcome == "400 bad_request")
    }
}
