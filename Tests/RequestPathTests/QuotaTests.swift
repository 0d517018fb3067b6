import GatewayTesting
import Testing

@Suite("Quotas over the wire", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct QuotaTests {}

extension QuotaTests {
    private static func configuration(
        _ upstream: RecordingUpstream, quotas: [String], more: [String] = []
    ) -> GatewayConfiguration {
        var configuration = GatewayConfiguration(
            upstreamPort: upstream.port,
            routes: [
                .init("open", path: "/open", more: ["quota: few"] + more),
                .init("other", path: "/other"),
            ])
        configuration.more.append("quotas:\n" + quotas.map { "  \($0)" }.joined(separator: "\n"))
        return configuration
    }

    private static let few = "few: { by: address, per: day, limit: 5 }"

    @Test("requests of one batch never pass more than the limit, over HTTP/2")
    func batch() throws {
        let upstream = try RecordingUpstream()
        var configuration = Self.configuration(upstream, quotas: [Self.few])
        configuration.speakHTTP2()
        let gateway = try GatewayProcess(configuration)
        let client = try HTTP2Client(port: gateway.port)
        let streams = (0..<40).map { UInt32(2 * $0 + 1) }
        try client.send(
            streams.map { .headers($0, HTTP2Client.head("GET", "/open", []), endStream: true) })
        let answers = try streams.map { try client.answer($0) }
        #expect(answers.filter { $0.status == 200 }.count == 5)
        #expect(answers.filter { $0.status == 429 }.count == 35)
        #expect(upstream.requests.count == 5)
        for answer in answers {
            #expect(answer["ratelimit-policy"] == "\"few\";q=5;w=86400")
            #expect(answer["ratelimit"]?.hasPrefix("\"few\";r=") == true)
        }
        // A route without quotas says nothing of them.
        let other = try client.exchange(201, "GET", "/other")
        #expect(other.status == 200 && other["ratelimit"] == nil)
        #expect(try gateway.metric("sallyport_quota_charged_total{quota=\"few\"}") == 5)
        let refused = "sallyport_quota_events_total{quota=\"few\",event=\"exhausted\"}"
        #expect(try gateway.metric(refused) == 35)
    }

    @Test("what was charged is in the line of each form for it, and in the span")
    func logged() throws {
        let upstream = try RecordingUpstream()
        let collector = try RecordingCollector()
        for (form, isCharged) in [
            ("json", { "\"quotas\":{\"few\":1,\"wide\":\($0)}" }),
            ("text", { " quotas=few:1,wide:\($0) id=" }),
        ] as [(String, (Int) -> String)] {
            var configuration = Self.configuration(
                upstream,
                quotas: [
                    Self.few, "wide: { by: address, per: day, limit: 9MiB, of: response_bytes }",
                ])
            configuration.routes[0].more = ["quota: [few, wide]"]
            configuration.more += [
                "log: { format: \(form) }",
                collector.setting("sample: 100%, metrics_interval: off"),
            ]
            let gateway = try GatewayProcess(configuration)
            let client = try gateway.connect()
            let answer = try client.exchange("GET", "/open")
            let expected = isCharged(answer.body.count)
            let line = try gateway.current.waitForLine(on: .standardOutput) { _ in true }
            #expect(line.contains(expected), "\(line)")
            let id = try #require(answer["X-Request-Id"])
            let span = try collector.waitForSpans { spans in
                spans.first { $0.isServer && $0["sallyport.request_id"] == id }
            }
            #expect(span["sallyport.quota.few"] == "1")
            #expect(span["sallyport.quota.wide"] == "\(answer.body.count)")
            // A route without quotas says nothing of them.
            #expect(try client.exchange("GET", "/other").status == 200)
            let other = try gateway.current.waitForLine(on: .standardOutput, from: 1) { _ in true }
            #expect(!other.contains("quotas"))
        }
    }

    @Test("the next period begins anew", .enabled(if: SteppedClock.isPossible))
    func nextPeriod() throws {
        let upstream = try RecordingUpstream()
        let directory = try ScratchDirectory()
        let clock = try SteppedClock("gateway", in: directory)
        let gateway = try GatewayProcess(
            Self.configuration(
                upstream, quotas: ["few: { by: address, per: month, limit: 1 }"]),
            directory: directory, launcher: clock.launcher)
        let client = try gateway.connect()
        for days in [0, 32, 64] {
            try clock.set(days * 86_400)
            #expect(try client.exchange("GET", "/open").status == 200)
            let refused = try client.exchange("GET", "/open")
            #expect(refused.status == 429)
        }
    }

    @Test(
        "a counter store that fails refuses, unless the route lets requests pass",
        arguments: [false, true])
    func storeFailure(passes: Bool) throws {
        let upstream = try RecordingUpstream()
        let redis = try RedisServer()
        var configuration = Self.configuration(upstream, quotas: [Self.few])
        configuration.counters = redis.counters
        configuration.routes[0].attest =
            "mode: enforce, on_missing: pass" + (passes ? ", on_store_failure: pass" : "")
        let gateway = try GatewayProcess(configuration)
        let client = try gateway.connect()
        // A gateway whose routes let requests pass serves before it has reached Redis.
        try waitWhile(try client.exchange("GET", "/open")["RateLimit"] == nil)
        try redis.kill()
        let count = upstream.requests.count
        let second = try client.exchange("GET", "/open")
        #expect(second.status == (passes ? 200 : 503))
        #expect(second["RateLimit"] == nil)
        if !passes { #expect(second.bodyText.contains("\"store_unavailable\"")) }
        #expect(upstream.requests.count == count + (passes ? 1 : 0))
    }

    @Test("a route that observes forwards although the store of its quota fails")
    func observed() throws {
        let upstream = try RecordingUpstream()
        let redis = try RedisServer()
        var configuration = Self.configuration(upstream, quotas: [Self.few])
        configuration.counters = redis.counters
        configuration.routes[0].attest = "mode: observe"
        let gateway = try GatewayProcess(configuration)
        let client = try gateway.connect()
        try waitWhile(try client.exchange("GET", "/open")["RateLimit"] == nil)
        try redis.kill()
        #expect(try client.exchange("GET", "/open").status == 200)
    }

    @Test("a client cannot hide the user that a proxy names behind another spelling")
    func spelling() throws {
        let upstream = try RecordingUpstream()
        var configuration = Self.configuration(
            upstream, quotas: ["few: { by: user, per: day, limit: 2 }"])
        configuration.listenerMore = ["trusted_proxies: [127.0.0.0/8]"]
        configuration.more.append("signals: { user: { header: X-User-Id, from: proxy } }")
        let gateway = try GatewayProcess(configuration)
        let client = try gateway.connect()
        func send(_ more: [(String, String)] = []) throws -> Int {
            try client.exchange("GET", "/open", fields: [("x-user-id", "ann")] + more).status
        }
        #expect(try send() == 200 && send([("X.User-Id", "x")]) == 200)
        #expect(try send([("X_User_Id", "x")]) == 429)
    }

    @Test("a proxy that asks is charged, and told what is left")
    func question() throws {
        let upstream = try RecordingUpstream()
        var configuration = Self.configuration(upstream, quotas: [Self.few], more: [])
        let port = FreePort.find()
        configuration.binds = [GatewayConfiguration.checkListener("nginx", port: port)]
        configuration.routes[0].more.append("tell_quota: true")
        let gateway = try GatewayProcess(configuration)
        let proxy = try RawClient(port: port)
        for left in (0..<5).reversed() {
            let answer = try proxy.exchange(
                "GET", "/check",
                fields: [("X-Original-Method", "GET"), ("X-Original-URI", "/open")])
            #expect(answer.status == 200)
            #expect(answer["RateLimit"]?.hasPrefix("\"few\";r=\(left);") == true)
            #expect(answer["X-Attest-Quota-few-Remaining"] == "\(left)")
        }
        let refused = try gateway.connect().exchange("GET", "/open")
        #expect(refused.status == 429)
    }

    @Test("the number of a stream is found behind a million events, in modest memory")
    func longStream() throws {
        let block = Array(String(repeating: "data: {\"d\":\"t\"}\n\n", count: 1000).utf8)
        let last = Array("data: {\"usage\":{\"total_tokens\":1000017}}\n\ndata: [DONE]\n\n".utf8)
        let count = 1000 * block.count + last.count
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            + "Content-Length: \(count)\r\n\r\n"
        let steps = Array(repeating: UpstreamAnswer.Step.send(block), count: 1000)
        let upstream = try RecordingUpstream { request in
            request.target == "/open"
                ? UpstreamAnswer([.send(Array(head.utf8))] + steps + [.send(last)]) : .response()
        }
        let gateway = try GatewayProcess(
            Self.configuration(
                upstream,
                quotas: [
                    "few: { by: address, per: month, limit: 2M, of: { json: /usage/total_tokens } }"
                ]))
        // Warm.
        #expect(try gateway.exchange("GET", "/other").status == 200)
        let before = try gateway.residentByteCount()
        let client = try gateway.connect()
        try client.send("GET", "/open")
        _ = try client.receiveHead()
        try client.discardBytes(count - last.count)
        #expect(try gateway.residentByteCount() - before < 4 * 1024 * 1024)
        #expect(try client.receiveBytes(last.count) == last)
        try gateway.waitForMetric("sallyport_quota_charged_total{quota=\"few\"}", 1_000_017)
        let missing = "sallyport_quota_events_total{quota=\"few\",event=\"missing\"}"
        #expect(try gateway.metric(missing) == 0)
    }

    @Test(
        "a stream that an HTTP/2 client resets is charged, and ends at the upstream",
        arguments: [(hasBegun: true, cost: 9), (hasBegun: false, cost: 7)])
    func reset(hasBegun: Bool, cost: Double) throws {
        let event = "data: {\"usage\":{\"total\":9}}\n\n"
        let upstream = try RecordingUpstream { _ in
            // Silent from then on.
            hasBegun
                ? .raw(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                        + "Content-Length: 100000\r\n\r\n\(event)")
                : UpstreamAnswer([])
        }
        let quota =
            "few: { by: address, per: month, limit: 100, missing: 7, of: { json: /usage/total } }"
        var configuration = Self.configuration(
            upstream, quotas: [quota], more: ["on_client_close: cancel"])
        configuration.speakHTTP2()
        let gateway = try GatewayProcess(configuration)
        let client = try HTTP2Client(port: gateway.port)
        try client.request(1, "GET", "/open")
        if hasBegun {
            try client.receive { $0.answers[1]?.bodyText == event }
        } else {
            try upstream.waitForRequests(1)
        }
        try client.send(.reset(1))
        try upstream.waitForClose(ofConnection: 0)
        try gateway.waitForMetric("sallyport_quota_charged_total{quota=\"few\"}", cost)
        // The connection goes on, and is told of the charge.
        try client.request(3, "GET", "/open")
        try upstream.waitForRequests(2)
        if hasBegun {
            try client.receive { $0.answers[3]?["ratelimit"] != nil }
            #expect(client.answers[3]?["ratelimit"]?.hasPrefix("\"few\";r=91;") == true)
        }
    }
}
