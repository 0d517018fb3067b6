import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

/// Questions in the body of `POST /check`, for whatever no other dialect fits.
@Suite("A check listener that speaks JSON", .enabled(if: BuiltProgram.isBuilt))
struct JSONCheckTests {
    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess
    private let port: UInt16

    private init(
        attest: String = "mode: enforce", from: String = "127.0.0.1", more: [String] = [],
        routes: [GatewayConfiguration.Route] = []
    ) throws {
        upstream = try RecordingUpstream()
        port = FreePort.find()
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port, attest: attest)
        configuration.binds = [
            GatewayConfiguration.checkListener("json", port: port, from: from)
        ]
        configuration.more += more
        configuration.routes.insert(contentsOf: routes, at: 0)
        gateway = try GatewayProcess(configuration)
    }

    init() throws { try self.init(attest: "mode: enforce") }
}

extension JSONCheckTests {
    private func question(
        _ method: String, _ target: String, _ fields: [(String, String)] = [],
        more: [String: JSONValue] = [:]
    ) -> [String: JSONValue] {
        let headers = Dictionary(
            uniqueKeysWithValues: fields.map { ($0.0, JSONValue.string($0.1)) })
        let own: [String: JSONValue] = [
            "method": .string(method), "target": .string(target), "host": .string("api.example"),
            "client": .string("192.0.2.7"), "headers": .object(headers),
        ]
        return own.merging(more) { $1 }
    }

    private func post(_ text: String) throws -> HTTPMessage {
        try RawClient(port: port).exchange("POST", "/check", body: Array(text.utf8))
    }

    /// The answer to a question that can be read.
    private func ask(
        _ method: String, _ target: String, _ fields: [(String, String)] = [],
        more: [String: JSONValue] = [:]
    ) throws -> Told {
        var writer = JSONWriter()
        writer.element(.object(question(method, target, fields, more: more)))
        let text = String(decoding: writer.finish().readable.array, as: UTF8.self)
        let answer = try post(text)
        #expect(answer.status == 200 && answer["Content-Type"] == "application/json")
        #expect(answer["Cache-Control"] == "no-store")
        return Told(
            answer: answer,
            value: try JSONValue.parse(answer.body.span, byteCountMax: answer.body.count))
    }

    private struct Told {
        let answer: HTTPMessage
        let value: JSONValue

        subscript(_ name: String) -> String? { value["headers"]?[name]?.stringValue }

        /// The names of headers that must go; nil where nothing is said of them.
        var removed: [String]? {
            guard case .array(let names)? = value["remove"] else { return nil }
            return names.compactMap(\.stringValue)
        }

        /// The status, and the code of a refusal.
        var outcome: String {
            let status = value["status"]?.integerValue ?? 0
            let isAllowed = value["allow"]?.boolValue == true
            let code = value["problem"]?["code"]?.stringValue
            return (isAllowed ? "allow " : "refuse ") + "\(status)" + (code.map { " " + $0 } ?? "")
        }
    }

    @Test("allows what is proved, once, and says what an upstream would hear")
    func allowed() throws {
        let app = try SimulatedClient.enrolled(gateway)
        let fields = try app.signature("GET", "/api/x?to=7", query: "to=7")
        let told = try ask("GET", "/api/x?to=7", fields)
        #expect(told.outcome == "allow 200" && told.value["problem"] == .object([:]))
        #expect(told.removed?.contains("x-app-attest-assertion") == true)
        #expect(told["X-Attest-Result"] == "verified")
        #expect(told["X-Attest-Key"] == app.device.keyID.base64)
        #expect(told["X-Attest-Body"] == "verified")
        #expect(told["X-App-Attest-Challenge"]?.isEmpty == false)
        // The call itself is nobody's request.
        #expect(told.answer.nextChallenge == nil && told.answer["X-Attest-Result"] == nil)
        #expect(try ask("GET", "/api/x?to=7", fields).outcome == "refuse 401 assertion_replayed")
        let other = try app.signature("GET", "/api/x")
        #expect(try ask("GET", "/api/y", other).outcome == "refuse 401 request_mismatch")
        #expect(try ask("GET", "/open").outcome == "allow 200")
        #expect(upstream.requests.isEmpty)
    }

    @Test("names each header of the client that may not go on, also those that it sets itself")
    func removed() throws {
        let told = try ask(
            "GET", "/open",
            [
                ("X-Attest-Result", "verified"), ("x_attest_key", "forged"),
                ("X-App-Attest-Failure", "phase=key;code=other"), ("Accept", "*/*"),
                ("X-HTTP-Method-Override", "DELETE"), ("X_Forwarded_For", "192.0.2.1"),
            ])
        #expect(told.outcome == "allow 200")
        #expect(
            told.removed?.sorted() == [
                "x-app-attest-failure", "x-attest-result", "x-http-method-override",
                "x_attest_key", "x_forwarded_for",
            ])
        #expect(try ask("GET", "/open").removed == [])
        #expect(try ask("GET", "/api/x", [("X-Attest-Result", "verified")]).removed == nil)
    }

    @Test("refuses with the status, the headers and the document that a request would get")
    func refused() throws {
        let told = try ask("HEAD", "/api/x")
        #expect(told.outcome == "refuse 401 assertion_required")
        #expect(told["WWW-Authenticate"] == "AppAttest error=\"assertion_required\"")
        #expect(told["Content-Type"] == "application/problem+json")
        #expect(told["X-App-Attest-Challenge"]?.isEmpty == false)
        #expect(told["X-Request-Id"] == told.value["problem"]?["request_id"]?.stringValue)
        #expect(try ask("GET", "/api/../open").outcome == "refuse 400 bad_request")
        for (method, target, detail) in [
            ("GET", "/attest/challenge", "send the request itself to the listener"),
            ("POST", "/assert/challenge?key_id=x", "send the request itself to the listener"),
            ("OPTIONS", "*", "OPTIONS * asks about the server"),
        ] {
            let own = try ask(method, target)
            #expect(own.outcome == "refuse 404 not_found")
            #expect(own.value["problem"]?["detail"]?.stringValue?.contains(detail) == true)
        }
        _ = try gateway.accessLine { $0["detail"]?.stringValue == "check_own" }
        let long = try ask("GET", "/" + String(repeating: "a", count: 9000))
        #expect(long.outcome == "refuse 414 target_too_long")
    }

    @Test("takes the digest that whoever asks has made, and no body's silence for an empty one")
    func bodies() throws {
        let app = try SimulatedClient.enrolled(gateway)
        let body = Array("{\"amount\":1}".utf8)
        func digest(_ body: [UInt8]) -> [String: JSONValue] {
            ["body_sha256": .string(Base64.encode(SHA256.hash(body).array))]
        }
        let fields = try app.signature("POST", "/api/x", body: body)
        for more in [[], [("Content-Length", "12")], [("Transfer-Encoding", "chunked")]] {
            let told = try ask("POST", "/api/x", fields + more)
            #expect(told.outcome == "refuse 403 body_unavailable")
        }
        let get = try app.signature("GET", "/api/x")
        #expect(
            try ask("GET", "/api/x", get + [("content-length", "1")]).outcome
                == "refuse 403 body_unavailable")
        let other = digest(Array("{}".utf8))
        #expect(
            try ask("POST", "/api/x", fields, more: other).outcome == "refuse 401 body_mismatch")
        let told = try ask("POST", "/api/x", fields, more: digest(body))
        #expect(told.outcome == "allow 200" && told["X-Attest-Body"] == "verified")
        let empty = try app.signature("DELETE", "/api/x")
        #expect(
            try ask("DELETE", "/api/x", empty + [("Content-Length", "0")]).outcome == "allow 200")
    }

    @Test("leaves the comparison to the upstream where the route says so and no digest is given")
    func claimed() throws {
        let site = try JSONCheckTests(attest: "mode: enforce, body: claimed")
        let app = try SimulatedClient.enrolled(site.gateway)
        let body = Array("{}".utf8)
        let told = try site.ask("POST", "/api/x", try app.signature("POST", "/api/x", body: body))
        #expect(told.outcome == "allow 200" && told["X-Attest-Body"] == "claimed")
        #expect(told["X-Attest-Body-SHA256"] == Base64.encode(SHA256.hash(body).array))
    }

    @Test("reads no client data out of a digest")
    func clientDataInBody() throws {
        let site = try JSONCheckTests(attest: "mode: enforce, client_data: body")
        let app = try SimulatedClient.enrolled(site.gateway)
        let fields = try app.signature("POST", "/api/x", body: Array("{}".utf8))
            .filter { $0.0.lowercased() != "x-app-attest-client-data" }
        let digest = JSONValue.string(Base64.encode(SHA256.hash(Array("{}".utf8)).array))
        let told = try site.ask("POST", "/api/x", fields, more: ["body_sha256": digest])
        #expect(told.outcome == "refuse 403 body_unavailable")
    }

    @Test(
        "refuses a question that says less, more or something else than it should",
        arguments: [
            ("", "not one JSON object"), ("[]", "not one JSON object"),
            ("{", "not one JSON object"),
            (#"{"method":"GET"}"#, "must be strings"),
            (#"{"method":"GET","target":7,"host":"a"}"#, "must be strings"),
            (#"{"method":"GET","target":"/open","host":"a","path":"/x"}"#, "and no other"),
            (#"{"method":"GET","method":"GET","target":"/open","host":"a"}"#, "twice"),
            (#"{"method":"GET","target":"/open","host":"a","client":"a"}"#, "IP address"),
            (#"{"method":"GET","target":"/open","host":"a","client":"::1%0"}"#, "IP address"),
            (#"{"method":"GET","target":"/open","host":"a","headers":[]}"#, "headers must be"),
            (
                #"{"method":"GET","target":"/open","host":"a","headers":{"A":1}}"#,
                "headers must be"
            ),
            (
                #"{"method":"GET","target":"/open","host":"a","headers":{"A":[["1"]]}}"#,
                "nested deeper"
            ),
            (
                #"{"method":"GET","target":"/open","host":"a","headers":{"A":"1","a":"2"}}"#,
                "a name twice"
            ),
            (
                #"{"method":"GET","target":"/open","host":"a","headers":{"A":"1\r\nB: 2"}}"#,
                "a character"
            ),
            (
                #"{"method":"GET","target":"/open","host":"a","headers":{"A: x\r\nB":"2"}}"#,
                "a character"
            ),
            (#"{"method":"GET","target":"/open HTTP/1.1\r\nA: b","host":"a"}"#, "a character"),
            (#"{"method":"GET","target":"/open","host":"a\r\nX: y"}"#, "a character"),
            (#"{"method":"GET","target":"/open","host":""}"#, "a character"),
            (
                #"{"method":"GET","target":"/open","host":"a","body_sha256":"AAAA"}"#,
                "body_sha256 must be"
            ),
            (
                #"{"method":"GET","target":"/open","host":"a","headers":{"Content-Length":"x"}}"#,
                "Content-Length"
            ),
        ])
    func malformed(text: String, detail: String) throws {
        let answer = try post(text)
        #expect(answer.outcome == "400 bad_request")
        let problem = try JSONValue.parse(answer.body.span, byteCountMax: answer.body.count)
        #expect(problem["detail"]?.stringValue?.contains(detail) == true)
    }

    @Test("bounds a question, its headers, and who may ask one")
    func bounds() throws {
        let head = #"{"method":"GET","target":"/open","host":"a","headers":{"#
        let many = (0..<200).map { "\"a\($0)\":\"\"" }.joined(separator: ",")
        let crowded = try post(head + many + "}}")
        let told = try JSONValue.parse(crowded.body.span, byteCountMax: crowded.body.count)
        #expect(crowded.status == 200 && told["status"]?.integerValue == 431)
        let long = head + "\"a\":\"" + String(repeating: "a", count: 40_000) + "\"}}"
        let large = try post(long)
        let toldLarge = try JSONValue.parse(large.body.span, byteCountMax: large.body.count)
        #expect(large.status == 200 && toldLarge["status"]?.integerValue == 431)
        #expect(
            try post(String(repeating: " ", count: 4 * 32 * 1024 + 1)).outcome
                == "413 body_too_large")
        let client = try RawClient(port: port)
        #expect(try client.exchange("GET", "/check").outcome == "400 bad_request")
        #expect(try client.exchange("GET", "/assert/challenge").status == 200)
        #expect(try client.exchange("GET", "/open").outcome == "404 not_found")
        #expect(try client.exchange("POST", "/checked").outcome == "404 not_found")
        let closed = try JSONCheckTests(from: "10.0.0.0/8")
        #expect(try closed.post(head + "}}").outcome == "404 not_found")
        #expect(gateway.isUnharmed)
    }

    @Test("goes on with the next question of a connection, however it is cut")
    func kept() throws {
        let client = try RawClient(port: port)
        let text =
            #"{"method":"GET","target":"/open","host":"a","headers":{"Cookie":["a=1","b=2"]}}"#
        let head = "POST /check HTTP/1.1\r\nHost: a\r\nContent-Length: \(text.utf8.count)\r\n\r\n"
        for _ in 0..<2 {
            for byte in Array((head + text).utf8) { try client.send([byte]) }
            #expect(try client.receive().status == 200)
        }
        try client.send(
            "POST /check HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n0\r\n\r\n")
        #expect(try client.receive().status == 200)
    }

    @Test("counts and logs the client that is named, for the request that is asked about")
    func client() throws {
        let site = try JSONCheckTests(
            more: ["rate_limits: { tight: { by: address, rate: 1/h } }"],
            routes: [
                .init(
                    "limited", path: "/limited", upstream: "api",
                    more: ["rate_limit: tight"])
            ])
        for (address, outcome) in [
            ("192.0.2.1", "allow 200"), ("192.0.2.1", "refuse 429 rate_limited"),
            ("192.0.2.2", "allow 200"), ("2001:db8::1", "allow 200"),
        ] {
            // What the client itself has sent of that is not believed.
            let told = try site.ask(
                "GET", "/limited", [("X-Forwarded-For", "192.0.2.9")],
                more: ["client": .string(address)])
            #expect(told.outcome == outcome)
        }
        _ = try site.ask("DELETE", "/api/x?secret=1", more: ["client": .string("192.0.2.3")])
        let line = try site.gateway.accessLine { $0["path"]?.stringValue == "/api/x" }
        #expect(line["method"]?.stringValue == "DELETE" && line["check"]?.stringValue == "json")
        #expect(line["client"]?.stringValue == "192.0.2.3")
        #expect(line["status"]?.integerValue == 401)
        #expect(line["decision"]?.stringValue == "refused")
    }

    @Test("answers the example of `deploy/integrations` as it stands there")
    func example() throws {
        let script = try Repository.text(of: "deploy/integrations/json.sh")
            .replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")
        let run = try ChildProcess.run("sh", ["-c", script])
        let told = try JSONValue.parse(
            Array(run.standardOutput.utf8).span, byteCountMax: run.standardOutput.utf8.count)
        #expect(told["allow"]?.boolValue == false && told["status"]?.integerValue == 401)
        #expect(told["problem"]?["code"]?.stringValue == "assertion_malformed")
    }

    @Test("tells of a route's own answer, and allows none of them")
    func ownAnswers() throws {
        let site = try JSONCheckTests(routes: [
            .init("denied", path: "/denied", upstream: "", more: ["respond: { status: 403 }"]),
            .init(
                "told", path: "/told", upstream: "",
                more: [
                    "respond: { status: 403, body: text }", "response_headers: { set: { A: b } }",
                ]),
            .init("fine", path: "/fine", upstream: "", more: ["respond: { status: 200 }"]),
            .init("moved", path: "/moved", upstream: "", more: ["redirect: { to: /x }"]),
        ])
        #expect(try site.ask("GET", "/denied").outcome == "refuse 403")
        let text = try site.ask("GET", "/told")
        #expect(text.outcome == "refuse 403" && text.value["problem"] == .object([:]))
        // The text is not told, so nothing describes it.
        #expect(text["A"] == "b" && text["Content-Type"] == nil)
        #expect(try site.ask("GET", "/fine").outcome == "refuse 404 not_found")
        let moved = try site.ask("GET", "/moved")
        #expect(moved.outcome == "refuse 302" && moved["Location"] == "/x")
    }
}
