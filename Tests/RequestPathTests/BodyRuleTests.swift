import GatewayTesting
import JSON
import Testing

@Suite("Rules for the JSON body", .enabled(if: BuiltProgram.isBuilt))
struct BodyRuleTests {
    private static let json = [("Content-Type", "application/json")]
    private static let rules = """
        body_rules: [{ json: /model, in: [gpt-x, gpt-y, 4] }, { json: /max_tokens, max: 1024 }, \
        { json: /tools/0/a~1b, in: [x], required: false }]
        """

    private let upstream: RecordingUpstream
    private let gateway: GatewayProcess

    init() throws {
        upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration(
            upstreamPort: upstream.port,
            routes: [
                .init(
                    "chat", path: "/chat",
                    more: [Self.rules, "problem_detail: true", "body_max: 2MiB"]),
                .init("proved", path: "/proved", attest: "mode: enforce", more: [Self.rules]),
                .init("watched", path: "/watched", attest: "mode: observe", more: [Self.rules]),
                .init("open", path: "/open"),
            ])
        configuration.speakHTTP2()
        gateway = try GatewayProcess(configuration)
    }
}

extension BodyRuleTests {
    static let passing = [
        #"{"model":"gpt-x"}"#, #" {"max_tokens": 1024, "model":"gpt-y", "x":[{"model":"z"}]} "#,
        #"{"model":4,"max_tokens":1.024e3}"#, #"{"\u006dodel":"gpt\u002dx","max_tokens":0}"#,
        #"{"model":"gpt-x","tools":[{"a/b":"x"},{"a/b":"y"}],"maximum_tokens":9999}"#,
        #"{"model":"gpt-x","tools":[]}"#, #"{"model":"gpt-x","tools":{"1":{"a/b":"y"}}}"#,
        #"{"model":"gpt-x","stop":"a","stop":"b"}"#,
    ]

    /// A body, and the cause of its refusal.
    static let refused: [(body: String, cause: String)] = [
        (#"{}"#, "body_rule: /model"), (#"{"model":"gpt-z"}"#, "body_rule: /model"),
        (#"{"model":"4"}"#, "body_rule: /model"), (#"{"model":5}"#, "body_rule: /model"),
        (#"{"model":null}"#, "body_rule: /model"), (#"{"model":["gpt-x"]}"#, "body_rule: /model"),
        (#"{"x":{"model":"gpt-x"}}"#, "body_rule: /model"),
        (#"{"model":"gpt-x","model":"gpt-x"}"#, "body_rule: /model"),
        (#"{"model":"gpt-x","\u006dodel":"gpt-z"}"#, "body_rule: /model"),
        (#"{"model":"gpt-x","Model":"gpt-z"}"#, "body_rule: /model"),
        (#"{"model":"gpt-x","max_tokens":1025}"#, "body_rule: /max_tokens"),
        (#"{"model":"gpt-x","max_tokens":-1}"#, "body_rule: /max_tokens"),
        (#"{"model":"gpt-x","max_tokens":"1"}"#, "body_rule: /max_tokens"),
        (#"{"model":"gpt-x","max_tokens":null}"#, "body_rule: /max_tokens"),
        (#"{"model":"gpt-x","maxTokens":1}"#, "body_rule: /max_tokens"),
        (#"{"model":"gpt-x","MAX_TOKENS":9999}"#, "body_rule: /max_tokens"),
        (#"{"model":"gpt-x","tools":[{"a/b":"y"}]}"#, "body_rule: /tools/0/a~1b"),
        (#"{"model":"gpt-x","tools":[],"tools":[{"a/b":"y"}]}"#, "body_rule: /tools/0/a~1b"),
        ("", "body_is_not_json"), ("[]", "body_is_not_json"), ("\"gpt-x\"", "body_is_not_json"),
        (#"{"model":"gpt-x"}{"model":"gpt-z"}"#, "body_is_not_json"),
        (#"{"model":"gpt-x",}"#, "body_is_not_json"), ("model=gpt-x", "body_is_not_json"),
        (#"{"model":"gpt-x"} // x"#, "body_is_not_json"),
        ("\u{FEFF}{\"model\":\"gpt-x\"}", "body_is_not_json"),
        (
            #"{"model":"gpt-x","x":"# + String(repeating: "[", count: 64)
                + String(repeating: "]", count: 64) + "}", "body_is_not_json"
        ),
    ]

    @Test("lets those pass that keep them, byte for byte, however they come")
    func passes() throws {
        let one = try gateway.connect()
        let two = try HTTP2Client(port: gateway.port)
        for (index, body) in Self.passing.enumerated() {
            let bytes = Array(body.utf8)
            #expect(
                try one.exchange("POST", "/chat", fields: Self.json, body: bytes).status == 200,
                "\(body)")
            try one.send(
                "POST /chat HTTP/1.1\r\nHost: a\r\nContent-Type: application/json; "
                    + "charset=UTF-8\r\nTransfer-Encoding: chunked\r\n\r\n")
            for byte in bytes { try one.send(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
            try one.send("0\r\n\r\n")
            #expect(try one.receive().status == 200, "\(body)")
            let stream = UInt32(2 * index + 1)
            try two.send(
                .headers(
                    stream,
                    HTTP2Client.head("POST", "/chat", [("content-type", "application/json")]),
                    endStream: false))
            for byte in bytes { try two.send(.data(stream, [byte], endStream: false)) }
            try two.send(.data(stream, []))
            #expect(try two.answer(stream).status == 200, "\(body)")
        }
        let seen = upstream.requests.map(\.message.bodyText)
        #expect(seen == Self.passing.flatMap { [$0, $0, $0] })
    }

    @Test("refuses the others, says at which place, and never shows the value")
    func refuses() throws {
        let client = try gateway.connect()
        let two = try HTTP2Client(port: gateway.port)
        for (index, (body, cause)) in Self.refused.enumerated() {
            let bytes = Array(body.utf8)
            let answer = try client.exchange("POST", "/chat", fields: Self.json, body: bytes)
            #expect(answer.outcome == "403 body_refused", "\(body)")
            let problem = try JSONValue.parse(answer.bodyText)
            #expect(problem["cause"]?.stringValue == cause, "\(body): \(answer.bodyText)")
            #expect(problem["action"]?.stringValue == "none")
            #expect(!answer.bodyText.contains("gpt"))
            let other = try two.exchange(
                UInt32(2 * index + 1), "POST", "/chat",
                fields: [("content-type", "application/json")], body: bytes)
            #expect(other.status == 403, "\(body)")
            let line = try gateway.accessLine { $0["detail"]?.stringValue == cause }
            #expect(line["reason"]?.stringValue == "body_refused")
        }
        #expect(upstream.requests.isEmpty)
    }

    @Test("refuses what an upstream may read by another charset or coding")
    func mediaTypes() throws {
        let body = Array(Self.passing[0].utf8)
        func outcome(_ fields: [(String, String)]) throws -> String {
            let answer = try gateway.exchange("POST", "/chat", fields: fields, body: body)
            return answer.status == 200 ? "200" : answer.outcome
        }
        for type in [
            "application/json", "Application/JSON;charset=utf-8",
            "application/json ; charset=\"UTF-8\"",
        ] {
            #expect(try outcome([("Content-Type", type)]) == "200", "\(type)")
        }
        let others: [[(String, String)]] = [
            [], [("Content-Type", "text/plain")],
            [("Content-Type", "application/json, text/plain")],
            [("Content-Type", "application/json; charset=utf-7")],
            [("Content-Type", "application/json; charset=utf-8; charset=utf-7")],
            [("Content-Type", "application/json;")], [("Content-Type", "application/jsonx")],
            [("Content-Type", "multipart/form-data; boundary=x")],
            Self.json + Self.json, Self.json + [("Content_Type", "text/plain")],
            [("Content_Type", "application/json")], Self.json + [("Content-Encoding", "gzip")],
            Self.json + [("Content-Encoding", "identity")],
            Self.json + [("content_encoding", "br")],
        ]
        for fields in others {
            #expect(try outcome(fields) == "403 body_refused", "\(fields)")
        }
        #expect(upstream.requests.count == 3)
    }

    @Test("holds for bodies that do not fit in memory, and for requests without one")
    func sizes() throws {
        let filling = String(repeating: "a\\u0062[{", count: 200_000)
        let client = try gateway.connect()
        for (end, status) in [(#""gpt-x"}"#, 200), (#""gpt-z"}"#, 403)] {
            let body = Array("{\"x\":\"\(filling)\",\"model\":\(end)".utf8)
            let answer = try client.exchange("POST", "/chat", fields: Self.json, body: body)
            #expect(answer.status == status)
        }
        #expect(try client.exchange("GET", "/chat").outcome == "403 body_refused")
        #expect(upstream.requests.count == 1)
    }

    @Test("is asked whatever a request proves, and spends no counter")
    func proofs() throws {
        let app = try SimulatedClient.enrolled(gateway)
        let bad = Array(#"{"model":"gpt-z"}"#.utf8)
        let good = Array(Self.passing[0].utf8)
        let signed = try app.signature("POST", "/proved", body: good)
        #expect(
            try gateway.exchange("POST", "/proved", fields: signed, body: good).outcome
                == "403 body_refused")
        // The same assertion, now with the header that it lacked.
        #expect(
            try gateway.exchange("POST", "/proved", fields: signed + Self.json, body: good).status
                == 200)
        #expect(
            try gateway.exchange("POST", "/proved", fields: Self.json, body: good).outcome
                == "401 assertion_required")
        #expect(
            try gateway.exchange("POST", "/watched", fields: Self.json, body: bad).outcome
                == "403 body_refused")
        #expect(
            try gateway.exchange("POST", "/watched", fields: Self.json, body: good).status == 200)
        #expect(try gateway.exchange("POST", "/open", fields: Self.json, body: bad).status == 200)
        #expect(upstream.requests.map(\.target) == ["/proved", "/watched", "/open"])
    }

    @Test("is kept on check listeners that show bodies, and lets nothing pass on the others")
    func questions() throws {
        for dialect in ["nginx", "forward", "envoy"] {
            let site = try CheckListenerTests(
                dialect, routes: [.init("chat", path: "/chat", more: [Self.rules])])
            let good = Array(Self.passing[0].utf8)
            let shows = dialect == "envoy"
            let answer = try site.ask(
                dialect, "POST", "/chat",
                Self.json + (shows ? [("X-Envoy-Auth-Partial-Body", "false")] : []),
                length: good.count, body: shows ? good : [])
            #expect(
                answer.status == 200 ? shows : answer.outcome == "403 body_unavailable",
                "\(dialect): \(answer.outcome)")
            let empty = try site.ask(dialect, "GET", "/chat", Self.json, length: 0)
            #expect(empty.outcome == "403 body_refused", "\(dialect)")
            guard shows else { continue }
            let bad = try site.ask(
                dialect, "POST", "/chat", Self.json + [("X-Envoy-Auth-Partial-Body", "false")],
                body: Array(#"{"model":"gpt-z"}"#.utf8))
            #expect(bad.outcome == "403 body_refused")
        }
    }
}
