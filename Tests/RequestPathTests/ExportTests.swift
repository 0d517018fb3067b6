import Foundation
import GatewayTesting
import JSON
import Testing

/// The export by OTLP: what a collector gets, and what a bad one cannot do.
@Suite("Export by OTLP", .enabled(if: BuiltProgram.isBuilt))
struct ExportTests {}

extension ExportTests {
    private static let spansOnly = "sample: 100%, metrics_interval: off"

    private static func gateway(
        _ collector: RecordingCollector, _ otlp: String, upstream: RecordingUpstream
    ) throws -> GatewayProcess {
        try GatewayProcess(configuration(collector.setting(otlp), upstream))
    }

    private static func configuration(
        _ setting: String, _ upstream: RecordingUpstream
    ) -> GatewayConfiguration {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.more = [setting]
        return configuration
    }

    // MARK: metrics

    @Test("the metrics are those of the page: names, labels and values")
    func metrics() throws {
        let upstream = try RecordingUpstream()
        let collector = try RecordingCollector()
        let gateway = try Self.gateway(
            collector, "sample: off, metrics_interval: 1s", upstream: upstream)
        let client = try SimulatedClient.enrolled(gateway)
        #expect(try client.request("GET", "/api/x").status == 200)
        #expect(try gateway.exchange("GET", "/api/x").status == 401)
        #expect(try gateway.exchange("GET", "/x").status == 200)
        let page = try gateway.admin("/metrics").bodyText
        let start = collector.requests("metrics").count + 1
        let metrics = try collector.waitForMetrics(from: start) { $0 }
        // What moves by itself, and what the scrape itself moved.
        func isStill(_ line: Substring) -> Bool {
            ![
                "process_", "sallyport_otlp_", "sallyport_requests_started",
                "sallyport_connections{", "sallyport_floors_lag_seconds",
                "sallyport_revocations_age_seconds", "#",
            ].contains {
                line.hasPrefix($0)
            } && !line.contains(#"route="none""#)
        }
        let expected = Set(page.split(separator: "\n").filter(isStill).map(String.init))
        let exported = Set(
            metrics.values.flatMap(Self.samples).map { Substring($0) }.filter(isStill)
                .map(String.init))
        #expect(expected.count > 100)
        #expect(expected.subtracting(exported).sorted() == [])
        #expect(exported.subtracting(expected).sorted() == [])
        let families = page.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
        for family in families {
            let words = family.split(separator: " ")
            let kind = ["counter": "sum"][words[3]] ?? String(words[3])
            guard let metric = metrics[String(words[2])] else {
                // A family without a sample is none.
                #expect(!page.contains("\n\(words[2]){") && !page.contains("\n\(words[2]) "))
                continue
            }
            #expect(metric[kind] != nil, "\(words[2])")
        }
        #expect(collector.requests("traces").isEmpty)
    }

    /// A metric as lines of Prometheus' format.
    private static func samples(_ metric: JSONValue) -> [String] {
        let name = metric["name"]?.stringValue ?? ""
        return ["sum", "gauge", "histogram"].flatMap { kind in
            (metric[kind]?["dataPoints"]?.arrayValue ?? []).flatMap { point -> [String] in
                let labels = (point["attributes"]?.arrayValue ?? []).map { attribute in
                    let value = attribute["value"]?["stringValue"]?.stringValue ?? ""
                    return "\(attribute["key"]?.stringValue ?? "")=\"\(value)\""
                }
                func line(_ suffix: String, _ more: [String], _ value: String) -> String {
                    let all = labels + more
                    return name + suffix
                        + (all.isEmpty ? "" : "{\(all.joined(separator: ","))}") + " " + value
                }
                guard kind == "histogram" else {
                    let value =
                        point["asInt"]?.stringValue ?? point["asDouble"].map(decimal) ?? "none"
                    return [line("", [], value)]
                }
                var sum: UInt64 = 0
                let counts = (point["bucketCounts"]?.arrayValue ?? [])
                    .compactMap { $0.stringValue.flatMap { UInt64($0) } }
                let bounds = (point["explicitBounds"]?.arrayValue ?? []).map(decimal) + ["+Inf"]
                let buckets = zip(counts, bounds).map { count, bound in
                    sum += count
                    return line("_bucket", ["le=\"\(bound)\""], "\(sum)")
                }
                return buckets + [
                    line("_sum", [], point["sum"].map(decimal) ?? "none"),
                    line("_count", [], point["count"]?.stringValue ?? "none"),
                ]
            }
        }
    }

    /// A number as the page writes seconds.
    private static func decimal(_ value: JSONValue) -> String {
        let number: Double
        switch value {
        case .integer(let whole): number = Double(whole)
        case .number(let real): number = real
        default: return "none"
        }
        var text = String(format: "%.9f", number)
        while text.hasSuffix("0") { text.removeLast() }
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }

    @Test("each export says which process it is from, and since when it counts")
    func origin() throws {
        let upstream = try RecordingUpstream()
        let collector = try RecordingCollector()
        let before = UInt64(Date().timeIntervalSince1970 * 1e9)
        let gateway = try Self.gateway(
            collector, "sample: 100%, metrics_interval: 1s", upstream: upstream)
        #expect(try gateway.exchange("GET", "/x").status == 200)
        _ = try collector.waitForSpans(\.first)
        let page = try collector.waitForMetrics { $0["sallyport_requests_total"] }
        let point = try #require(page["sum"]?["dataPoints"]?.arrayValue?.first)
        let startedAt = point["startTimeUnixNano"]?.stringValue.flatMap { UInt64($0) } ?? 0
        let now = point["timeUnixNano"]?.stringValue.flatMap { UInt64($0) } ?? 0
        #expect(before <= startedAt && startedAt < now)
        var ids: Set<String> = []
        for (signal, name) in [("traces", "resourceSpans"), ("metrics", "resourceMetrics")] {
            let request = try #require(collector.requests(signal).first)
            let body = try JSONValue.parse(request.message.bodyText)
            let resource = body[name]?.arrayValue?.first?["resource"]
            let pairs = (resource?["attributes"]?.arrayValue ?? []).map {
                ($0["key"]?.stringValue ?? "", $0["value"]?["stringValue"]?.stringValue ?? "")
            }
            let attributes = Dictionary(uniqueKeysWithValues: pairs)
            #expect(attributes["service.name"] == "sallyport")
            #expect(attributes["host.name"] == ProcessInfo.processInfo.hostName)
            #expect(attributes["process.pid"] == "\(gateway.current.processID)")
            let version = try BuiltProgram.run(["version"]).standardOutput
            #expect(version == "sallyport \(attributes["service.version"] ?? "")\n")
            ids.insert(attributes["service.instance.id"] ?? "")
        }
        #expect(ids.count == 1 && UUID(uuidString: ids.first ?? "") != nil)
    }

    // MARK: the way there

    @Test("headers go with each request, from files too, and no page shows them")
    func headers() throws {
        let upstream = try RecordingUpstream()
        let collector = try RecordingCollector()
        let directory = try ScratchDirectory()
        let token = try directory.write("Bearer hunter2-hunter2\n", to: "token")
        let setting = collector.setting(
            Self.spansOnly + ", headers: { authorization: \"${file:\(token)}\", X-Org: \"1\" }")
        let gateway = try GatewayProcess(Self.configuration(setting, upstream))
        #expect(try gateway.exchange("GET", "/x").status == 200)
        _ = try collector.waitForSpans(\.first)
        let request = try #require(collector.requests("traces").first)
        #expect(request["Authorization"] == "Bearer hunter2-hunter2" && request["X-Org"] == "1")
        let printed = try BuiltProgram.run(["check", "-c", gateway.configurationPath, "--print"])
        #expect(printed.status == .exited(0))
        #expect(!printed.standardOutput.contains("hunter2"))
        #expect(printed.standardOutput.contains("authorization: \"***\""))
        let text = gateway.current.text(on: .standardError) + (try gateway.admin("/").bodyText)
        #expect(!text.contains("hunter2"))
    }

    @Test(
        "a path of the endpoint stands before those of OTLP, and TLS is checked",
        .timeLimit(.minutes(30)))
    func tls() throws {
        let upstream = try RecordingUpstream()
        let collector = try RecordingCollector()
        let directory = try ScratchDirectory()
        let leaf = try TestCertificate(in: directory, "leaf", names: ["localhost", "127.0.0.1"])
        let front = try NginxServer(
            locations: """
                ssl_certificate \(leaf.certificatePath);
                ssl_certificate_key \(leaf.keyPath);
                location / { proxy_pass http://127.0.0.1:\(collector.server.port); }
                """, options: "ssl")
        func setting(_ more: String) -> String {
            RecordingCollector.setting(
                endpoint: "https://127.0.0.1:\(front.port)/in/here/",
                "\(Self.spansOnly)\(more)")
        }
        let gateway = try GatewayProcess(
            Self.configuration(setting(", ca: \(leaf.certificatePath)"), upstream))
        #expect(try gateway.exchange("GET", "/x").status == 200)
        _ = try collector.waitForSpans(\.first)
        #expect(collector.requests("traces").map(\.target) == ["/in/here/v1/traces"])
        // By the system's authorities it is nobody's.
        #expect(
            try gateway.reload(Self.configuration(setting(""), upstream))["event"]?.stringValue
                == "reloaded")
        #expect(try gateway.exchange("GET", "/y").status == 200)
        let event = try gateway.waitForEvent("otlp_down")
        #expect(event["message"]?.stringValue?.contains("not trusted") == true)
        #expect(collector.requests("traces").count == 1)
    }

    @Test("doctor shows the collector an export of nothing, and says what it answers")
    func doctor() throws {
        let upstream = try RecordingUpstream()
        let collector = try RecordingCollector { request in
            request.target == "/v1/traces" ? .response(401) : .response(body: "{}")
        }
        let directory = try ScratchDirectory()
        func doctor(_ setting: String) throws -> ChildProcess.Outcome {
            let text = Self.configuration(setting, upstream).text(
                port: FreePort.find(), adminPort: FreePort.find(), directory: directory.path)
            return try BuiltProgram.run(
                ["doctor", "-c", try directory.write(text, to: "sallyport.yaml")])
        }
        let outcome = try doctor(collector.setting("headers: { X-Key: abc }"))
        #expect(outcome.status == .exited(0), "\(outcome.standardOutput)")
        #expect(
            outcome.standardOutput.contains("warn  collector, traces: the collector answered 401")
        )
        #expect(outcome.standardOutput.contains("ok    collector, metrics: takes them"))
        #expect(collector.server.requests.map { $0["X-Key"] } == ["abc", "abc"])
        let bodies = collector.server.requests.map(\.message.bodyText)
        #expect(bodies == [#"{"resourceSpans":[]}"#, #"{"resourceMetrics":[]}"#])
        collector.server.stop()
        let gone = try doctor(collector.setting("sample: off")).standardOutput
        #expect(gone.contains("warn  collector, metrics: unreachable"))
        #expect(!gone.contains("collector, traces"))
    }

    // MARK: collectors that fail

    @Test("what a collector cannot take now comes again, when it says")
    func patience() throws {
        let upstream = try RecordingUpstream()
        let collector = try RecordingCollector { _ in
            .response(503, fields: [("Retry-After", "1")])
        }
        let gateway = try Self.gateway(collector, Self.spansOnly, upstream: upstream)
        #expect(try gateway.exchange("GET", "/x").status == 200)
        let event = try gateway.waitForEvent("otlp_down")
        #expect(
            event["message"]?.stringValue
                == "traces are not exported: the collector answered 503")
        collector.server.answer { _ in .response(body: "{}") }
        try gateway.waitForEvent("otlp_up")
        let bodies = collector.requests("traces").map(\.body)
        #expect(bodies.count >= 2 && Set(bodies).count == 1)
        func count(_ outcome: String) throws -> Double? {
            try gateway.metric(
                "sallyport_otlp_exports_total{signal=\"traces\",outcome=\"\(outcome)\"}")
        }
        #expect(try count("accepted") == 1)
        #expect(try count("throttled") == Double(bodies.count - 1))
        for reason in ["queue_full", "refused", "rejected", "undelivered"] {
            let sample = "sallyport_otlp_dropped_total{reason=\"\(reason)\"}"
            #expect(try gateway.metric(sample) == 0)
        }
    }

    @Test(
        "what a collector refuses is given up and counted, and redirects lead nowhere",
        arguments: [
            UpstreamAnswer.response(400), .response(401), .response(404), .response(500),
            .response(200, body: String(repeating: "x", count: 200_000)),
        ])
    func refusal(answer: UpstreamAnswer) throws {
        let upstream = try RecordingUpstream()
        let collector = try RecordingCollector { _ in answer }
        let gateway = try Self.gateway(collector, Self.spansOnly, upstream: upstream)
        #expect(try gateway.exchange("GET", "/x").status == 200)
        try gateway.waitForEvent("otlp_down")
        // A busy gateway may export the two spans of the request one after the other.
        try waitWhile(
            try gateway.metric("sallyport_otlp_dropped_total{reason=\"refused\"}") != 2)
        collector.server.answer { _ in .response(body: "{}") }
        #expect(try gateway.exchange("GET", "/y").status == 200)
        try gateway.waitForEvent("otlp_up")
        // What was refused is not sent again.
        #expect((2...3).contains(collector.requests("traces").count))
        #expect(
            try collector.spans().suffix(2).first { $0.isServer }?["url.path"] == "/y")
    }

    @Test("a redirect is followed nowhere")
    func redirect() throws {
        let upstream = try RecordingUpstream()
        let other = try RecordingCollector()
        let target = "http://127.0.0.1:\(other.server.port)/v1/traces"
        let collector = try RecordingCollector { _ in
            .response(307, fields: [("Location", target)])
        }
        let gateway = try Self.gateway(collector, Self.spansOnly, upstream: upstream)
        #expect(try gateway.exchange("GET", "/x").status == 200)
        let event = try gateway.waitForEvent("otlp_down")
        #expect(event["message"]?.stringValue?.contains("answered 307") == true)
        #expect(other.server.connectionCount == 0)
    }

    @Test("what a collector says that it threw away is counted")
    func rejection() throws {
        let upstream = try RecordingUpstream()
        let collector = try RecordingCollector { _ in
            .response(
                body: #"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too\nmany"}}"#)
        }
        let gateway = try Self.gateway(collector, Self.spansOnly, upstream: upstream)
        #expect(try gateway.exchange("GET", "/x").status == 200)
        let event = try gateway.waitForEvent("otlp_rejected")
        #expect(
            event["message"]?.stringValue == "traces: the collector threw 2 away: too many")
        #expect(try gateway.metric("sallyport_otlp_dropped_total{reason=\"rejected\"}") == 2)
        // Told once, and counted each time.
        #expect(try gateway.exchange("GET", "/x").status == 200)
        try gateway.waitForMetric("sallyport_events_total{event=\"otlp_rejected\"}", 2)
        #expect(try gateway.metric("sallyport_otlp_dropped_total{reason=\"rejected\"}") == 4)
        #expect(
            gateway.current.lines(on: .standardError).count { $0.contains("otlp_rejected") } == 1)
    }

    @Test("a collector that is gone, dies, says rubbish or never answers disturbs no request")
    func absence() throws {
        let upstream = try RecordingUpstream()
        let gate = Gate()
        defer { gate.open() }
        let answers: [UpstreamAnswer?] = [
            nil, .dies, .raw("rubbish\r\n\r\n", then: .close), .response(after: gate),
        ]
        for answer in answers {
            let collector = try RecordingCollector { _ in answer ?? .dies }
            if answer == nil { collector.server.stop() }
            let gateway = try Self.gateway(
                collector, "sample: 100%, metrics_interval: 1s", upstream: upstream)
            let client = try gateway.connect()
            for _ in 0..<50 { #expect(try client.exchange("GET", "/x").status == 200) }
            if answer != nil { try collector.server.waitForRequests(1) }
            for _ in 0..<50 { #expect(try client.exchange("GET", "/x").status == 200) }
            // It waits no longer than it says.
            #expect(try gateway.terminate() == .exited(0))
            #expect(gateway.alarms.isEmpty)
        }
    }

    // MARK: life

    @Test("a reload begins, changes and ends the export")
    func reload() throws {
        let upstream = try RecordingUpstream()
        let first = try RecordingCollector()
        let second = try RecordingCollector()
        let plain = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        let gateway = try GatewayProcess(plain)
        let client = try gateway.connect()
        #expect(try client.exchange("GET", "/before").status == 200)
        #expect(!(try gateway.admin("/metrics").bodyText.contains("sallyport_otlp_")))

        for (collector, path) in [(first, "/first"), (second, "/second")] {
            let next = Self.configuration(collector.setting(Self.spansOnly), upstream)
            #expect(try gateway.reload(next)["event"]?.stringValue == "reloaded")
            // The worker hears of it after the control thread.
            _ = try collector.waitForSpans { spans in
                if spans.contains(where: { $0["url.path"] == path }) { return true }
                _ = try client.exchange("GET", path)
                return nil
            }
        }
        let bad = Self.configuration(RecordingCollector.setting(endpoint: "ftp://a:1"), upstream)
        #expect(try gateway.reload(bad)["event"]?.stringValue == "reload_failed")
        #expect(try gateway.reload(plain)["event"]?.stringValue == "reloaded")
        #expect(try gateway.terminate() == .exited(0))
        let paths = try first.spans().compactMap { $0["url.path"] }
        #expect(Set(paths) == ["/first"])
        #expect(!(try second.spans().contains { $0["url.path"] == "/before" }))
    }

    @Test("a stop sends what there is: the last spans, and the last counts")
    func stop() throws {
        let upstream = try RecordingUpstream()
        let collector = try RecordingCollector()
        let gateway = try Self.gateway(
            collector, "sample: 100%, metrics_interval: 1h", upstream: upstream)
        let client = try gateway.connect()
        for _ in 0..<20 { #expect(try client.exchange("GET", "/x").status == 200) }
        #expect(try gateway.terminate() == .exited(0))
        #expect(try collector.spans().count(where: \.isServer) == 20)
        let page = try #require(collector.requests("metrics").last)
        let requests = try RecordingCollector.metrics(page)["sallyport_requests_total"]
        #expect(
            requests.map(Self.samples)?.contains(
                #"sallyport_requests_total{route="rest",decision="passed",reason="ok"} 20"#)
                == true)
    }

    // MARK: by the definitions of OpenTelemetry

    private static let hasDefinitions = PythonInterpreter.environment.has("opentelemetry.proto")

    @Test(
        "OpenTelemetry's own definitions take each request, to the last member",
        .enabled(if: hasDefinitions, "opentelemetry-proto is missing: scripts/install.sh test"))
    func definitions() throws {
        let upstream = try RecordingUpstream()
        let collector = try RecordingCollector()
        let gateway = try Self.gateway(
            collector, "sample: 100%, metrics_interval: 1s", upstream: upstream)
        let client = try SimulatedClient.enrolled(gateway)
        let agent = [("User-Agent", #"a"\#u{7}\#u{2028}é"#.replacing("\u{7}", with: "\\"))]
        #expect(try client.request("GET", "/api/x").status == 200)
        #expect(try gateway.exchange("GET", "/%22?secret", fields: agent).status == 200)
        #expect(try gateway.exchange("BREW", "/api/x").status == 401)
        upstream.answer { _ in .dies }
        #expect(try gateway.exchange("GET", "/x").status == 502)
        _ = try collector.waitForMetrics { metrics in
            metrics["sallyport_requests_total"]?["sum"]?["dataPoints"]?.arrayValue?
                .contains { "\($0)".contains("upstream_failed") } == true ? true : nil
        }
        #expect(try gateway.terminate() == .exited(0))
        let directory = try ScratchDirectory()
        func check(_ signal: String, _ bodies: [[UInt8]]) throws -> ChildProcess.Outcome {
            let paths = try bodies.enumerated().map { index, body in
                try directory.write(body, to: "\(signal)-\(index).json")
            }
            let script = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "otlp_check.py").path
            return try ChildProcess.run(
                PythonInterpreter.environment.path, [script, signal] + paths)
        }
        for signal in ["traces", "metrics"] {
            let bodies = collector.requests(signal).map(\.body)
            let outcome = try check(signal, bodies)
            #expect(outcome.status == .exited(0), "\(outcome.standardError)")
            let lines = outcome.standardOutput.split(separator: "\n").map(String.init)
            if signal == "traces" {
                let spans = try collector.spans().map { span in
                    (["span"] + ["traceId", "spanId", "parentSpanId"].map { span.text($0) ?? "" })
                        .joined(separator: " ")
                }
                #expect(
                    lines.map { $0.trimmingCharacters(in: .whitespaces) }
                        == spans.map { $0.trimmingCharacters(in: .whitespaces) })
                #expect(spans.count > 8)
            } else {
                #expect(lines.contains("metric sallyport_requests_total sum"))
                #expect(lines.contains("metric sallyport_request_duration_seconds histogram"))
                #expect(lines.contains("metric sallyport_store_up gauge"))
            }
            // The check itself sees a member that is none.
            let text = String(decoding: bodies[0], as: UTF8.self)
                .replacing("\"timeUnixNano\"", with: "\"timeNano\"")
                .replacing("\"spanId\"", with: "\"span\"")
            #expect(try check(signal, [Array(text.utf8)]).status == .exited(1))
        }
    }
}
