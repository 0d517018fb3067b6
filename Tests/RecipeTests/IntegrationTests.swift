import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

/// `docs/operations/beside-a-proxy.md`: the files of `deploy/integrations` in the real proxies.
@Suite("Beside a proxy", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct IntegrationTests {}

extension IntegrationTests {
    @Test("every proxy that has files here is installed")
    func installed() {
        for integration in Integration.allCases where !Integration.installed.contains(integration) {
            withKnownIssue("\(integration) is not installed: scripts/install.sh test") {
                Issue.record("\(integration)")
            }
        }
        #expect(!Integration.installed.isEmpty)
    }

    @Test(
        "a proved request passes once, as it came, and the API hears the check's verdict alone",
        arguments: Integration.installed)
    func passes(integration: Integration) throws {
        let site = try IntegrationSite(integration)
        let forged = [
            ("X-Attest-Result", "forged"), ("X_Attest_Result", "forged"),
            ("X-Attest_Key", "forged"), ("X-Attest-Risk", "0"), ("X-Attest-Signals", "none"),
            ("X-Forwarded-For", "192.0.2.6"), ("Forwarded", "for=192.0.2.7"),
            ("X-Request-Id", "forged"),
        ]
        for (count, version) in ["--http1.1", "--http2"].enumerated() {
            let fields = try site.app.signature("GET", "/api/x%20y?to=7&b=%2F")
            let passed = try site.send(
                "GET", "/api/x%20y?to=7&b=%2F", fields + forged, options: [version])
            #expect(passed.outcome == "200")
            #expect(passed["X-App-Attest-Challenge"]?.isEmpty == false)
            let requestID = try site.loggedRequestID(of: passed)
            let seen = try #require(site.upstream.requests.last)
            #expect(seen.method == "GET" && seen.target == "/api/x%20y?to=7&b=%2F")
            #expect(seen["X-Attest-Result"] == "verified")
            #expect(seen["X-Attest-Key"] == site.app.device.keyID.base64)
            #expect(seen["X-Attest-App"] == GatewayConfiguration.appID)
            #expect(seen["X-Attest-Body"] == "verified")
            #expect(seen["X-Request-Id"] == requestID)
            for name in ["X-Attest-Risk", "X-Attest-Signals", "X-Attest-Body-SHA256", "Forwarded"] {
                #expect(seen[name] == nil, "\(name)")
            }
            for field in seen.message.fields {
                let name = field.name.lowercased()
                #expect(!name.contains("_") && !name.hasPrefix("x-app-attest-"), "\(field)")
                #expect(!field.value.contains("forged") && !field.value.contains("{"), "\(field)")
            }
            #expect(seen["X-Forwarded-For"]?.hasPrefix("127.0.0.2") == true)
            // The same again.
            let again = try site.send("GET", "/api/x%20y?to=7&b=%2F", fields, options: [version])
            #expect(again.outcome == "401 assertion_replayed")
            #expect(site.upstream.requests.count == count + 1)
        }
        // Its limits and its log see the client.
        try site.gateway.process.waitForLine(on: .standardOutput) { line in
            let said = try? JSONValue.parse(line)
            return said?["check"]?.stringValue == integration.dialect
                && said?["client"]?.stringValue == "127.0.0.2"
        }
    }

    @Test(
        "a refusal reaches the app with its status, its document and what to do next",
        arguments: Integration.installed)
    func refusals(integration: Integration) throws {
        let site = try IntegrationSite(integration)
        for options in [["--http1.1"], ["--http2"]] {
            for method in ["GET", "DELETE"] {
                let bare = try site.send(
                    method, "/api/x.html", [("Content-Length", "0")], options: options)
                #expect(bare.outcome == "401 assertion_required")
                #expect(bare["Content-Type"] == "application/problem+json")
                #expect(bare["WWW-Authenticate"] == "AppAttest error=\"assertion_required\"")
                #expect(bare["X-App-Attest-Challenge"]?.isEmpty == false)
                #expect(bare["Cache-Control"] == "no-store")
                #expect(bare["Link"] == "</.well-known/app-attest>; rel=\"service-meta\"")
                _ = try site.loggedRequestID(of: bare)
            }
            let head = try site.send("HEAD", "/api/x", options: options)
            #expect(head.answer.status == 401 && head["X-App-Attest-Challenge"] != nil)
            // What tells the app how to prove itself needs no proof.
            let told = try site.send("GET", "/.well-known/app-attest", options: options)
            #expect(told.answer.status == 200 && told["Content-Type"] == "application/json")
        }
        // Other requests than were signed.
        let (app, proof) = (site.app, [("X-Note", "1")])
        let signed = try app.signature("GET", "/api/a?b=1") + proof
        #expect(try site.send("GET", "/api/b?b=1", signed).outcome == "401 request_mismatch")
        #expect(try site.send("GET", "/api/a?b=2", signed).outcome == "401 request_mismatch")
        #expect(
            try site.send("DELETE", "/api/a?b=1", signed + [("Content-Length", "0")]).outcome
                == "401 request_mismatch")
        // What is neither 401 nor 403.
        #expect(try site.send("GET", "/nowhere").outcome == "404 not_found")
        #expect(try site.send("GET", "/api/%zz", options: ["--http1.1"]).answer.status == 400)
        #expect(try site.send("GET", "/limited").outcome == "401 assertion_required")
        let limited = try site.send("GET", "/limited")
        #expect(limited.outcome == "429 rate_limited")
        #expect(limited["Retry-After"].flatMap { Int($0) } ?? 0 > 0)
        #expect(site.upstream.requests.isEmpty)
        try site.gateway.stop()
        let down = try site.send("GET", "/api/a?b=1", signed)
        let silence: [Integration: [Int]] = [.caddy: [502], .haproxy: [502, 503]]
        #expect(silence[integration, default: [503]].contains(down.answer.status))
        #expect(site.upstream.requests.isEmpty)
    }

    @Test(
        "nothing that a client says under the names of the proxy is believed",
        arguments: Integration.installed)
    func spoofed(integration: Integration) throws {
        let site = try IntegrationSite(integration)
        let empty = try site.app.signature("POST", "/api/x")
        let other = try site.app.signature("GET", "/api/signed")
        let spoofs: [[(String, String)]] = [
            [("X-Original-Method", "GET"), ("X-Original-URI", "/api/signed")],
            [("X_Original_Method", "GET"), ("X_Original_URI", "/api/signed")],
            [("X-Forwarded-Method", "GET"), ("X-Forwarded-Uri", "/api/signed")],
            [("X_Forwarded_Method", "GET"), ("X_Forwarded_Uri", "/api/signed")],
            [("X-Original-Content-Length", "0"), ("X-Forwarded-Content-Length", "0")],
            [("X_Original_Content_Length", "0"), ("X_Forwarded_Content_Length", "0")],
            [("X.Original.Content-Length", "0"), ("X.Forwarded.Content-Length", "0")],
            [("X-Envoy-Auth-Partial-Body", "false")], [("X_Envoy_Auth_Partial_Body", "false")],
            [("X-Envoy-Original-Path", "/api/signed"), ("X-Rewrite-Url", "/api/signed")],
            [("X-HTTP-Method-Override", "GET"), ("X-Original-Host", "other.example")],
            [("X-Attest-Result", "verified")], [("X_Attest_Result", "verified")],
            [("X-Attest-Quota-few-Remaining", "9")],
            [("Connection", "close, X-Forwarded-Uri, X-Original-URI, X-App-Attest-Assertion")],
        ]
        for spoof in spoofs {
            // With a length, and without one.
            for options in [
                ["--http1.1"], ["--http2"], ["--http1.1", "-H", "Transfer-Encoding: chunked"],
                ["--http2", "-H", "Content-Length:"],
            ] {
                for proof in [empty, other, []] {
                    let send = {
                        try site.send(
                            "POST", "/api/x", proof + spoof, body: "{\"amount\":1}",
                            options: options)
                    }
                    // Where Envoy answers before the body has come it resets the stream in HTTP/2.
                    let isCut = integration == .envoyProcessor && options[0] == "--http2"
                    guard let answer = isCut ? try? send() : try send() else { continue }
                    #expect((400...403).contains(answer.answer.status), "\(spoof)")
                }
                guard options.count == 1 else { continue }
                let get = try site.send("GET", "/api/x", other + spoof, options: options)
                #expect((400...401).contains(get.answer.status), "\(spoof)")
            }
        }
        #expect(site.upstream.requests.isEmpty)
    }

    @Test(
        "a body passes compared or, where the route says so, with its signed digest",
        arguments: Integration.installed)
    func bodies(integration: Integration) throws {
        let site = try IntegrationSite(integration)
        let (app, body) = (site.app, "{\"amount\":1}")
        for options in [
            ["--http1.1"], ["--http2"], ["--http1.1", "-H", "Transfer-Encoding: chunked"],
        ] {
            let signed = try app.signature("POST", "/api/x", body: Array(body.utf8))
            let answer = try site.send("POST", "/api/x", signed, body: body, options: options)
            if integration.showsBodies {
                #expect(answer.outcome == "200")
                let seen = try #require(site.upstream.requests.last)
                #expect(seen["X-Attest-Body"] == "verified" && seen.message.bodyText == body)
                let other = try app.signature("POST", "/api/x", body: Array(body.utf8))
                let tampered = try site.send("POST", "/api/x", other, body: "{}", options: options)
                #expect(tampered.outcome == "401 body_mismatch")
            } else {
                #expect(answer.outcome == "403 body_unavailable")
            }
            let upload = try app.signature("PUT", "/uploads/x", body: Array(body.utf8))
            let count = site.upstream.requests.count
            let claimed = try site.send("PUT", "/uploads/x", upload, body: body, options: options)
            #expect(claimed.outcome == "200")
            let seen = try #require(site.upstream.requests.last)
            #expect(site.upstream.requests.count == count + 1 && seen.message.bodyText == body)
            #expect(seen["X-Attest-Result"] == "verified")
            guard !integration.showsLongBodies else {
                #expect(seen["X-Attest-Body"] == "verified")
                continue
            }
            #expect(seen["X-Attest-Body"] == "claimed")
            #expect(
                seen["X-Attest-Body-SHA256"]
                    == Base64.encode(SHA256.hash(Array(body.utf8)).array))
        }
        // More than any of them holds in memory.
        let large = String(repeating: "a", count: 2 << 20)
        let upload = try app.signature("PUT", "/uploads/large", body: Array(large.utf8))
        #expect(try site.send("PUT", "/uploads/large", upload, body: large).outcome == "200")
        let isWhole = site.upstream.requests.last?.message.bodyText == large
        #expect(isWhole)
        if integration.showsLongBodies {
            let signed = try app.signature("PUT", "/api/large", body: Array(large.utf8))
            #expect(try site.send("PUT", "/api/large", signed, body: large).outcome == "200")
            let isWhole = site.upstream.requests.last?.message.bodyText == large
            #expect(isWhole)
        }
        // Envoy refuses with 413 what it cannot show whole; in HTTP/2 it may cut the stream.
        let count = site.upstream.requests.count
        let signed = try app.signature(
            "PUT", "/api/large",
            body: Array((integration.showsLongBodies ? "" : large).utf8))
        if let refused = try? site.send("PUT", "/api/large", signed, body: large) {
            #expect([401, 403, 413].contains(refused.answer.status))
        }
        #expect(site.upstream.requests.count == count)
    }

    @Test(
        "a body that nothing announces does not reach the API behind the signature of none",
        arguments: Integration.installed)
    func unannounced(integration: Integration) throws {
        let site = try IntegrationSite(integration)
        for options in [
            ["--http2", "-H", "Content-Length:"],
            ["--http1.1", "-H", "Transfer-Encoding: chunked"],
        ] {
            for (method, target) in [("GET", "/api/x"), ("OPTIONS", "/uploads/x")] {
                for body in ["1", "{\"amount\":1}"] {
                    let signed = try site.app.signature(method, target)
                    let answer = try site.send(method, target, signed, body: body, options: options)
                    #expect([200, 400, 401, 403].contains(answer.answer.status))
                    for seen in site.upstream.requests { #expect(seen.body.isEmpty) }
                }
            }
        }
    }

    @Test(
        "no other spelling of a path passes by the signature of one",
        arguments: Integration.installed)
    func spellings(integration: Integration) throws {
        let site = try IntegrationSite(integration)
        for target in [
            "/api/a%2Fb", "/api/a%2fb", "/api//a/b", "//api/a/b", "/api/./a/b", "/api/c/../a/b",
            "/api/c/%2e%2e/a/b", "/api/%61/b", "/api/a/b/", "/api/a\\b", "/api/a/b;x=1",
            "/assert/../api/a/b", "/attest/..%2fapi/a/b", "/open/../api/a/b",
        ] {
            let signed = try site.app.signature("GET", "/api/a/b")
            let answer = try site.send("GET", target, signed, options: ["--http1.1"])
            let status = answer.answer.status
            #expect((400...404).contains(status) || status == 200, "\(target)")
        }
        // By the standard this is the same path, and it passes as it came.
        #expect(site.upstream.requests.allSatisfy { $0.target == "/api/%61/b" })
    }

    @Test(
        "a check that is asked twice never lets a request pass twice",
        arguments: Integration.installed)
    func retried(integration: Integration) throws {
        let site = try IntegrationSite(integration)
        let signed = try site.app.signature("GET", "/api/x")
        site.relay.set(.cutBeforeAnswer)
        let cut = try site.send("GET", "/api/x", signed)
        #expect(cut.answer.status >= 401 && site.upstream.requests.isEmpty)
        #expect(try site.send("GET", "/api/x", signed).outcome == "401 assertion_replayed")
        let doubled = try site.app.signature("GET", "/api/x")
        site.relay.set(.doubled)
        _ = try site.send("GET", "/api/x", doubled)
        site.relay.set(.clear)
        #expect(try site.send("GET", "/api/x", doubled).outcome == "401 assertion_replayed")
        #expect(site.upstream.requests.count <= 1)
    }

    @Test(
        "what Envoy refuses itself reaches the client as Envoy says it, and is no fault",
        .enabled(if: Integration.installed.contains(.envoyProcessor)))
    func localAnswers() throws {
        let site = try IntegrationSite(.envoyProcessor)
        for (method, options, status) in [
            ("OPTIONS", ["--request-target", "*"], 404), ("GET", ["-H", "Host:"], 400),
            ("CONNECT", ["--request-target", "a:443"], 501),
        ] {
            let answer = try site.send(method, "/", options: ["--http1.1"] + options)
            #expect(answer.answer.status == status, "\(method) \(options)")
        }
        // These Envoy shows, and closes the connection without a word.
        for options in [
            ["--http1.1", "-H", "Content-Length: 1", "-H", "Transfer-Encoding: chunked"],
            ["--http1.0"],
        ] {
            #expect(throws: RecipeError.self) {
                try site.send("POST", "/", body: "0", options: options)
            }
        }
        #expect(try site.app.request("GET", "/api/x").outcome == "200")
        try site.gateway.stop()
        #expect(!site.gateway.process.text(on: .standardError).contains("check_call_failed"))
    }

    @Test("the files that cannot be tried here are well-formed, and name what the others do")
    func forms() throws {
        #expect(try Integration.file("envoy.yaml").contains("allow_partial_message: false"))
        #expect(try Integration.file("envoy-grpc.yaml").contains("allow_partial_message: false"))
        #expect(try Integration.file("istio.yaml").contains("allowPartialMessage: false"))
        for name in [
            "traefik.yaml", "istio.yaml", "gateway-api.yaml", "envoy.yaml", "envoy-grpc.yaml",
            "envoy-ext-proc.yaml",
        ] {
            let program = "import sys, yaml; assert all(yaml.safe_load_all(sys.stdin))"
            let outcome = try ChildProcess.run(
                PythonInterpreter.debian.path, ["-c", program],
                standardInput: Array(try Integration.file(name).utf8))
            #expect(outcome.status == .exited(0), "\(name): \(outcome.standardError)")
        }
        // Headers that only the gateway may set: where a proxy has no prefixes, each by its name.
        let names = try Self.verdictNames()
        #expect(names.count > 15)
        for file in ["nginx.conf", "Caddyfile", "gateway-api.yaml"] {
            let text = try Integration.file(file).lowercased()
            for name in names {
                let isNamed = text.contains(try Regex("\\b\(name)(?![\\w-])"))
                #expect(isNamed, "\(file) does not name \(name)")
            }
        }
    }

    /// The headers that a check can say, in lower case, as they stand in the gateway's code.
    private static func verdictNames() throws -> Set<String> {
        let folder = URL(filePath: Repository.path(of: "Sources/Gateway/Exchange"))
        var names: Set = ["x-attest-identity"]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        where path.hasSuffix(".swift") {
            let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
            for found in text.matches(of: /X-Attest-[A-Za-z0-9-]+(?=: )/) {
                names.insert(found.output.lowercased())
            }
        }
        return names
    }
}
