import Foundation
import GatewayTesting
import Testing

/// What clients say and the API must not hear, and what nobody says.
extension IntegrationTests {
    @Test(
        "nothing asks the API for another method or path than the one that was matched",
        arguments: Integration.installed)
    func overriding(integration: Integration) throws {
        let site = try IntegrationSite(integration)
        #expect(
            try site.send("DELETE", "/items/7", [("Content-Length", "0")]).outcome
                == "401 assertion_required")
        var count = 0
        for name in [
            "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL",
            "X-Rewrite-URL", "X_HTTP_Method_Override", "X-HTTP_Method", "x.method.override",
            "X-Original.URL", "X~Rewrite~URL",
        ] {
            for (method, version) in [
                ("POST", "--http1.1"), ("POST", "--http2"), ("GET", "--http2"),
            ] {
                let fields = [(name, "DELETE"), ("X-Own", "1"), ("Content-Length", "0")]
                let answer = try site.send(method, "/items/7", fields, options: [version])
                if answer.answer.status == 200 {
                    count += 1
                    let seen = try #require(site.upstream.requests.last)
                    #expect(seen["X-Own"] == "1" && seen.method == method)
                } else {
                    #expect(answer.outcome == "400 bad_request", "\(name)")
                    // nginx forwards another message than it shows, and Caddy knows few spellings.
                    #expect(integration == .nginx || integration == .caddy, "\(name)")
                }
                #expect(site.upstream.requests.count == count)
            }
        }
        expectNoField("DELETE", at: site)
    }

    /// The API has seen no field with this value.
    private func expectNoField(_ value: String, at site: IntegrationSite) {
        for field in site.upstream.requests.flatMap(\.message.fields) {
            #expect(field.value != value, "\(field)")
        }
    }

    @Test(
        "no spelling of a header that only the gateway or the proxy sets reaches the API",
        arguments: Integration.installed)
    func disguised(integration: Integration) throws {
        let site = try IntegrationSite(integration)
        for name in [
            "X.Attest.Result", "X-Attest.Key", "x!attest!tier", "X_Attest_Result", "X.Attest-Risk",
            "X.App.Attest.Assertion", "X-App_Attest-Token", "X.Forwarded.For", "X_Forwarded_For",
            "X-Forwarded.Host", "X.Real.IP", "X_Request_Id", "X.Request-Id",
        ] {
            for (method, version) in [("GET", "--http1.1"), ("POST", "--http2")] {
                let fields = [(name, "forged"), ("Content-Length", "0")]
                let answer = try site.send(method, "/items/7", fields, options: [version])
                #expect(["200", "400 bad_request"].contains(answer.outcome), "\(name)")
            }
        }
        // What is refused is not seen; where all is, the API is there all the same.
        #expect(try site.send("GET", "/items/7").outcome == "200")
        expectNoField("forged", at: site)
    }

    @Test(
        "what has no body is compared as that, where the proxy can tell that there is none",
        arguments: Integration.installed)
    func bodiless(integration: Integration) throws {
        let site = try IntegrationSite(integration)
        let app = site.app
        for (method, version) in [("POST", "--http1.1"), ("DELETE", "--http2")] {
            let signed = try app.signature(method, "/api/x")
            let announced = try site.send(
                method, "/api/x", signed + [("Content-Length", "0")], options: [version])
            #expect(announced.outcome == "200")
            #expect(site.upstream.requests.last?["X-Attest-Body"] == "verified")
            let count = site.upstream.requests.count
            let silent = try app.signature(method, "/api/x")
            let answer = try site.send(method, "/api/x", silent, options: [version])
            if integration.tellsOfNoBody {
                #expect(answer.outcome == "200")
                #expect(site.upstream.requests.last?["X-Attest-Body"] == "verified")
            } else {
                #expect(answer.outcome == "403 body_unavailable")
                #expect(site.upstream.requests.count == count)
            }
        }
    }

    @Test(
        "a gateway that takes a question and is silent is a refusal after a while",
        arguments: Integration.installed)
    func silent(integration: Integration) throws {
        let site = try IntegrationSite(integration, isImpatient: true)
        let signed = try site.app.signature("GET", "/api/x")
        site.relay.set(.silent)
        let answer = try site.send("GET", "/api/x", signed, options: ["--max-time", "20"])
        #expect([502, 503, 504].contains(answer.answer.status))
        #expect(site.upstream.requests.isEmpty)
        site.relay.set(.clear)
    }

    @Test("Istio asks about every host that it forwards, with each port, and hands Link on")
    func istio() throws {
        let text = try Integration.file("istio.yaml")
        let hosts = try #require(
            text.firstMatch(of: /\n  hosts: \[([^\]]+)\]\n  gateways/)?.output.1)
        for host in hosts.split(separator: ",") {
            let name = host.trimmingCharacters(in: .whitespaces)
            #expect(text.contains("            hosts: [\(name), \"\(name):*\"]"))
        }
        let told = try #require(
            text.firstMatch(of: /headersToDownstreamOnDeny:\n(?:            - .*\n)+/)
        ).output
        for name in ["x-app-attest-*", "www-authenticate", "link", "retry-after"] {
            #expect(told.contains("- \(name)\n"), "\(name)")
        }
    }

    @Test("the files that cannot be tried here remove what asks for another method or path")
    func untriedRemovals() throws {
        for file in ["traefik.yaml", "gateway-api.yaml"] {
            let text = try Integration.file(file).lowercased()
            for name in [
                "x-http-method", "x-http-method-override", "x-method-override", "x-original-url",
                "x-rewrite-url",
            ] {
                let isNamed = text.contains(try Regex("\\b\(name)(?![\\w-])"))
                #expect(isNamed, "\(file) does not name \(name)")
            }
        }
        // What real Envoy is tried with removes it in Istio.
        func removals(_ file: String) throws -> Set<Substring> {
            Set(try Integration.file(file).matches(of: /safe_regex: { regex: "x.*/).map(\.output))
        }
        let tried = try removals("envoy.yaml")
        #expect(tried.count > 3)
        for file in ["istio.yaml", "envoy-grpc.yaml", "envoy-ext-proc.yaml"] {
            #expect(try removals(file) == tried, "\(file)")
        }
    }
}
