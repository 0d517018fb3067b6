import Foundation
import GatewayTesting
import JSON
import Testing

/// Spans of requests, and what upstreams learn of traces (W3C Trace Context).
@Suite("Traces", .enabled(if: BuiltProgram.isBuilt))
struct TraceTests {}

extension TraceTests {
    private typealias Span = RecordingCollector.Span

    private static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parentID = "00f067aa0ba902b7"
    private static let sampled = "00-\(traceID)-\(parentID)-01"

    /// A gateway before an upstream, with a collector beside it.
    private struct Site {
        let upstream: RecordingUpstream
        let collector: RecordingCollector
        var configuration: GatewayConfiguration

        init(_ otlp: String, attest: String = "mode: off") throws {
            upstream = try RecordingUpstream()
            collector = try RecordingCollector()
            configuration = .enforcing(upstreamPort: upstream.port, attest: attest)
            configuration.more = [collector.setting(otlp)]
        }

        func start() throws -> GatewayProcess { try GatewayProcess(configuration) }

        /// The two spans of one trace, the server's first, once both are there.
        func pair(_ isIt: @escaping (Span) -> Bool) throws -> (server: Span, client: Span) {
            try collector.waitForSpans { spans in
                guard let server = spans.first(where: { $0.isServer && isIt($0) }),
                    let client = spans.first(where: {
                        !$0.isServer && $0.text("parentSpanId") == server.text("spanId")
                    })
                else { return nil }
                return (server, client)
            }
        }
    }

    @Test("a request of a sampled trace has a span, and a child for the upstream that knows it")
    func continued() throws {
        let site = try Site("sample: 0%, metrics_interval: off")
        let gateway = try site.start()
        let before = UInt64(Date().timeIntervalSince1970 * 1e9)
        let answer = try gateway.exchange(
            "POST", "/api/a?token=hunter2",
            fields: [
                ("Traceparent", Self.sampled), ("tracestate", "a=b"), ("User-Agent", "App/4.2"),
                ("X-App-Attest-Assertion", "c2VjcmV0LWFzc2VydGlvbg=="),
            ], body: Array("x".utf8))
        #expect(answer.status == 200)
        let (server, client) = try site.pair { $0.text("traceId") == Self.traceID }
        let after = UInt64(Date().timeIntervalSince1970 * 1e9)

        #expect(server.text("name") == "POST /api/*")
        #expect(server.text("parentSpanId") == Self.parentID)
        #expect(server.json["flags"]?.integerValue == 0x301)
        #expect(server["http.request.method"] == "POST")
        #expect(server["url.path"] == "/api/a" && server["url.scheme"] == "http")
        #expect(server["http.route"] == "/api/*" && server["sallyport.route"] == "api")
        #expect(server["http.response.status_code"] == "200")
        #expect(server["client.address"] == "127.0.0.1")
        #expect(server["network.protocol.version"] == "1.1")
        #expect(server["server.address"] == "api.example" && server["server.port"] == nil)
        #expect(server["user_agent.original"] == "App/4.2")
        #expect(server["sallyport.decision"] == "passed" && server["sallyport.reason"] == "ok")
        #expect(server["sallyport.request_id"] == answer["X-Request-Id"])
        #expect(!server.isError)

        #expect(client.text("traceId") == Self.traceID && client.text("name") == "POST")
        #expect(client.json["flags"]?.integerValue == 0x101)
        #expect(client["server.address"] == "127.0.0.1")
        #expect(client["server.port"] == "\(site.upstream.port)")
        #expect(client["sallyport.upstream"] == "api")
        #expect(client["http.response.status_code"] == "200")
        let times = [
            before, server.nanoseconds("startTimeUnixNano"),
            client.nanoseconds("startTimeUnixNano"), client.nanoseconds("endTimeUnixNano"),
            server.nanoseconds("endTimeUnixNano"), after,
        ]
        // The loop takes the time once a turn, and the clock of the day is another one.
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 + 50_000_000 })

        let seen = try #require(site.upstream.requests.first?.message)
        let clientID = try #require(client.text("spanId"))
        #expect(seen.values(of: "traceparent") == ["00-\(Self.traceID)-\(clientID)-01"])
        #expect(seen.values(of: "tracestate") == ["a=b"])
        let line = try gateway.accessLine()
        #expect(line["trace_id"]?.stringValue == Self.traceID)
        for request in site.collector.server.requests {
            #expect(!request.message.bodyText.contains("hunter2"))
            #expect(!request.message.bodyText.contains("c2VjcmV0"))
            #expect(request["Content-Type"] == "application/json" && request.method == "POST")
        }
    }

    @Test("what is not sampled passes as it came, and has no span")
    func unsampled() throws {
        let site = try Site("sample: 0%, metrics_interval: off")
        let gateway = try site.start()
        let client = try gateway.connect()
        let parents = [
            "00-\(Self.traceID)-\(Self.parentID)-00", "00-\(Self.traceID)-\(Self.parentID)-02",
            "00-\(Self.traceID)-0000000000000000-01", "rubbish",
            "00-\(Self.traceID.uppercased())-\(Self.parentID)-01",
        ]
        for parent in parents {
            let fields = [("traceparent", parent), ("tracestate", "a=b")]
            #expect(try client.exchange("GET", "/x", fields: fields).status == 200)
        }
        #expect(try client.exchange("GET", "/x").status == 200)
        // Two are one too many, sampled or not.
        let twice = [("traceparent", Self.sampled), ("traceparent", Self.sampled)]
        #expect(try client.exchange("GET", "/x", fields: twice).status == 200)
        let seen = site.upstream.requests.map { $0.message.values(of: "traceparent") }
        #expect(seen == parents.map { [$0] } + [[], [Self.sampled, Self.sampled]])
        #expect(site.upstream.requests.dropLast(2).allSatisfy { $0["tracestate"] == "a=b" })

        let last = [("traceparent", "00-\(Self.traceID)-\(Self.parentID)-01")]
        #expect(try client.exchange("GET", "/last", fields: last).status == 200)
        _ = try site.pair { _ in true }
        #expect(try site.collector.spans().filter(\.isServer).map { $0["url.path"] } == ["/last"])
    }

    @Test("a trace begins here where none is continued, and takes no state of another")
    func begun() throws {
        let site = try Site("sample: 100%, metrics_interval: off")
        let gateway = try site.start()
        let fields = [("traceparent", "rubbish"), ("tracestate", "a=b")]
        #expect(try gateway.exchange("GET", "/x", fields: fields).status == 200)
        let (server, client) = try site.pair { _ in true }
        #expect(server.json["parentSpanId"] == nil)
        #expect(server.json["flags"]?.integerValue == 0x103)
        let traceID = try #require(server.text("traceId"))
        let clientID = try #require(client.text("spanId"))
        #expect(traceID.count == 32 && clientID.count == 16)
        let seen = try #require(site.upstream.requests.first?.message)
        #expect(seen.values(of: "traceparent") == ["00-\(traceID)-\(clientID)-03"])
        #expect(seen.values(of: "tracestate") == [])
        #expect(try gateway.accessLine()["trace_id"]?.stringValue == traceID)
        let raw = try gateway.connect()
        for (host, address) in [("api.example", "api.example"), ("[::1]", "::1")] {
            try raw.send("GET /\(address) HTTP/1.1\r\nHost: \(host):8443\r\n\r\n")
            #expect(try raw.receive().status < 500)
            let span = try site.collector.waitForSpans { spans in
                spans.first { $0["url.path"] == "/\(address)" }
            }
            #expect(span["server.address"] == address && span["server.port"] == "8443")
        }
        // Its sender has decided otherwise.
        let unsampled = [("traceparent", "00-\(Self.traceID)-\(Self.parentID)-00")]
        #expect(try gateway.exchange("GET", "/x", fields: unsampled).status == 200)
        #expect(site.upstream.requests.last?["traceparent"] == unsampled[0].1)
    }

    @Test("a route's own word on traceparent stands")
    func edited() throws {
        let site = try Site("sample: 100%, metrics_interval: off")
        var configuration = site.configuration
        configuration.routes = [
            .init("set", path: "/set", more: ["request_headers: { set: { traceparent: own } }"]),
            .init("gone", path: "/gone", more: ["request_headers: { remove: [Traceparent] }"]),
        ]
        let gateway = try GatewayProcess(configuration)
        let fields = [("traceparent", Self.sampled)]
        #expect(try gateway.exchange("GET", "/set", fields: fields).status == 200)
        #expect(try gateway.exchange("GET", "/gone", fields: fields).status == 200)
        let seen = site.upstream.requests.map { $0.message.values(of: "traceparent") }
        #expect(seen == [["own"], []])
    }

    @Test("a refusal has a span although nobody asked, with its cause")
    func refused() throws {
        let site = try Site("sample: 0%, metrics_interval: off", attest: "mode: enforce")
        let gateway = try site.start()
        #expect(try gateway.exchange("GET", "/api/x").status == 401)
        let unsampled = [("traceparent", "00-\(Self.traceID)-\(Self.parentID)-00")]
        #expect(try gateway.exchange("BREW", "/api/y", fields: unsampled).status == 401)
        let malformed = try gateway.connect()
        try malformed.send(Array("GET /\u{1} HTTP/1.1\r\n\r\n".utf8))
        #expect(try malformed.receive().status == 400)
        // Spans of several workers have no order.
        let spans = try site.collector.waitForSpans { $0.count >= 3 ? $0 : nil }
            .sorted { $0.nanoseconds("startTimeUnixNano") < $1.nanoseconds("startTimeUnixNano") }
        #expect(spans.count == 3 && spans.allSatisfy(\.isServer))
        #expect(spans[0]["sallyport.decision"] == "refused")
        #expect(spans[0]["sallyport.reason"] == "assertion_required")
        #expect(spans[0]["http.response.status_code"] == "401" && !spans[0].isError)
        #expect(spans[0].json["parentSpanId"] == nil)
        #expect(spans[1].text("traceId") == Self.traceID)
        #expect(spans[1].text("parentSpanId") == Self.parentID)
        #expect(spans[1].text("name") == "HTTP /api/*")
        #expect(spans[1]["http.request.method"] == "_OTHER")
        #expect(spans[1]["http.request.method_original"] == "BREW")
        #expect(spans[2].text("name") == "HTTP" && spans[2]["url.path"] == nil)
        #expect(spans[2]["http.response.status_code"] == "400")
        #expect(spans[2]["sallyport.detail"] != nil)
    }

    @Test("what anybody can bring about has a limit: sampled flags, and refusals apart from them")
    func limited() throws {
        let site = try Site("sample: 0%, span_limit: 1/h, metrics_interval: off")
        let gateway = try site.start()
        let client = try gateway.connect()
        for index in 0..<5 {
            let parent = "00-\(Self.traceID)-000000000000000\(index + 1)-01"
            #expect(
                try client.exchange("GET", "/a", fields: [("traceparent", parent)]).status == 200)
            #expect(
                site.upstream.requests[index]["traceparent"] == parent ? index > 0 : index == 0)
        }
        for _ in 0..<5 {
            #expect(try client.exchange("GET", "/%zz", fields: []).status == 400)
        }
        // The last spans leave with a stop.
        #expect(try gateway.terminate() == .exited(0))
        let spans = try site.collector.spans().filter(\.isServer)
        #expect(spans.map { $0["http.response.status_code"] } == ["200", "400"])
    }

    @Test("an upstream that fails shows in its span, with every try")
    func broken() throws {
        let site = try Site("sample: 100%, metrics_interval: off")
        site.upstream.answer { _ in .dies }
        let gateway = try site.start()
        #expect(try gateway.exchange("GET", "/x").status == 502)
        let (server, client) = try site.pair { _ in true }
        #expect(server.isError && server["error.type"] == "upstream_failed")
        #expect(client.isError && client["error.type"] == "upstream_failed")
        #expect(client["http.response.status_code"] == nil)
        site.upstream.answer { _ in .response(503) }
        #expect(try gateway.exchange("GET", "/y").status == 503)
        let second = try site.pair { $0["url.path"] == "/y" }
        #expect(second.server.isError && second.server["error.type"] == "503")
        #expect(second.client.isError && second.client["http.response.status_code"] == "503")
    }

    @Test("what strangers write is text in a span, cut where it is long")
    func hostile() throws {
        let site = try Site("sample: 100%, metrics_interval: off")
        let gateway = try site.start()
        let agent = #"a"b\c</script>{"x":1}\#u{2028}é"# + String(repeating: "u", count: 2000)
        let path = "/p/%22%7B%F0/" + String(repeating: "x", count: 3000)
        #expect(
            try gateway.exchange("GET", path, fields: [("User-Agent", agent)]).status < 500)
        let server = try site.collector.waitForSpans { $0.first(where: \.isServer) }
        let shown = try #require(server["user_agent.original"])
        #expect(agent.hasPrefix(shown) && shown.utf8.count == 512)
        #expect(server["url.path"] == String(path.prefix(1024)))
    }

    @Test("HTTP/2 is traced alike, in both directions")
    func multiplexed() throws {
        let site = try Site("sample: 0%, metrics_interval: off")
        var configuration = site.configuration
        configuration.listenerMore = ["protocols: [h2, http/1.1]"]
        let gateway = try GatewayProcess(configuration)
        let client = try HTTP2Client(port: gateway.port)
        let answer = try client.exchange(
            1, "GET", "/x", fields: [("traceparent", Self.sampled), ("tracestate", "a=b")])
        #expect(answer.status == 200)
        let (server, client2) = try site.pair { _ in true }
        #expect(server["network.protocol.version"] == "2")
        #expect(server.text("traceId") == Self.traceID)
        let clientID = try #require(client2.text("spanId"))
        let seen = try #require(site.upstream.requests.first?.message)
        #expect(seen.values(of: "traceparent") == ["00-\(Self.traceID)-\(clientID)-01"])
        #expect(seen.values(of: "tracestate") == ["a=b"])
    }

    @Test("requests to the gateway's own endpoints have spans, those of operators have none")
    func others() throws {
        let site = try Site("sample: 100%, metrics_interval: off", attest: "mode: enforce")
        let gateway = try site.start()
        #expect(try gateway.admin("/livez").status == 200)
        #expect(try gateway.exchange("GET", "/assert/challenge").status == 200)
        let span = try site.collector.waitForSpans(\.first)
        #expect(span["http.route"] == "/assert/challenge")
        #expect(span["sallyport.decision"] == "answered" && span.isServer)
        #expect(try gateway.terminate() == .exited(0))
        #expect(try site.collector.spans().count == 1)
    }
}
