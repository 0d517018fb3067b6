import AppAttestTesting
import Crypto
import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("Metrics", .enabled(if: BuiltProgram.isBuilt))
struct MetricsTests {}

extension MetricsTests {
    private static let hasPromtool =
        (try? ChildProcess.run("promtool", ["--version"]))?.status == .exited(0)

    private func upstream() throws -> RecordingUpstream { try RecordingUpstream() }

    @Test("tell the program, what its process uses, and how the last reload went")
    func process() throws {
        let upstream = try upstream()
        let configuration = GatewayConfiguration(upstreamPort: upstream.port)
        let gateway = try GatewayProcess(configuration)
        let version = try BuiltProgram.run(["version"]).standardOutput
            .dropFirst("sallyport ".count).dropLast()
        let page = try gateway.admin("/metrics").bodyText
        #expect(page.contains("sallyport_build_info{version=\"\(version)\",openssl=\""))

        let resident = try #require(try gateway.metric("process_resident_memory_bytes"))
        // The kernel counts a few pages late.
        #expect(abs(resident - Double(try gateway.residentByteCount())) < 16e6)
        let descriptorCount = try #require(try gateway.metric("process_open_fds"))
        #expect(abs(descriptorCount - Double(try gateway.fileDescriptorCount())) <= 2)
        #expect(try #require(try gateway.metric("process_max_fds")) >= descriptorCount)
        #expect(try #require(try gateway.metric("process_cpu_seconds_total")) >= 0)
        let startedAt = try #require(try gateway.metric("process_start_time_seconds"))
        #expect(abs(startedAt - Date().timeIntervalSince1970) < 600)

        let sample = "sallyport_config_last_reload_successful"
        let moment = "sallyport_config_last_reload_success_timestamp_seconds"
        #expect(try gateway.metric(sample) == 1)
        let takenAt = try #require(try gateway.metric(moment))
        #expect(try gateway.reload(text: "nonsense: [")["event"]?.stringValue == "reload_failed")
        #expect(try gateway.metric(sample) == 0)
        #expect(try gateway.metric(moment) == takenAt)
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        #expect(try gateway.metric(sample) == 1)
        #expect(try #require(try gateway.metric(moment)) >= takenAt)
    }

    @Test("tell when each certificate ends, and the event log which ones end soon")
    func certificates() throws {
        let site = try TLSSite()
        let now = Int64(Date().timeIntervalSince1970)
        func entry(_ name: String, daysLeft: Int64, of life: Int64) throws -> String {
            let key = try ECPrivateKey.generate(.p256)
            // Half an hour more: the test may take a while.
            let end = now + daysLeft * 86_400 + 1800
            let certificate = try CertificateBuilder(
                subject: ["CN": name], key: .ec(key), notBefore: end - life * 86_400,
                notAfter: end, extensions: []
            ).certificate(issuer: .itself, signingKey: key)
            let text = String(decoding: try certificate.pem() + key.pem(), as: UTF8.self)
            let path = try site.directory.write(text, to: "\(UUID().uuidString).pem")
            return "{ certificate: \(path), key: \(path) }"
        }
        let entries = [
            "{ \(TLSSite.entry(site.leaf)) }", try entry(#"a"b"#, daysLeft: 20, of: 90),
            // Of a name's two certificates the one that ends first counts.
            try entry(#"a"b"#, daysLeft: 15, of: 90), try entry("short", daysLeft: 2, of: 6),
        ]
        func configuration(_ entries: [String]) -> GatewayConfiguration {
            site.configuration(tls: "certificates: [\(entries.joined(separator: ", "))]")
        }
        let gateway = try GatewayProcess(configuration(entries))
        let family = "sallyport_tls_certificate_not_after_timestamp_seconds"
        let listener = "{listener=\"127.0.0.1:\(gateway.port)\""
        let sample = family + listener + #",name="a\"b"} "#
        let page = try gateway.admin("/metrics").bodyText.split(separator: "\n")
        #expect(page.contains { $0 == sample + "\(now + 15 * 86_400 + 1800)" })
        #expect(page.count { $0.hasPrefix(family + "{") } == 3)
        // With both, an alarm has the rule of the event: a quarter of a short life.
        let begins = family.replacing("not_after", with: "not_before")
        #expect(page.count { $0.hasPrefix(begins + "{") } == 3)
        #expect(!gateway.current.text(on: .standardError).contains("certificate_expiring"))

        let late =
            entries + [
                try entry("late", daysLeft: 13, of: 90), try entry("short2", daysLeft: 1, of: 6),
            ]
        #expect(try gateway.reload(configuration(late))["event"]?.stringValue == "reloaded")
        let events = gateway.current.lines(on: .standardError)
            .filter { $0.contains("certificate_expiring") }
        #expect(events.count == 2)
        #expect(events.contains { $0.contains("the certificate for late expires in 13 days") })
        #expect(events.contains { $0.contains("for short2 expires in 24 hours") })
        let status = try JSONValue.parse(try gateway.admin("/status.json").bodyText)
        #expect(
            status["certificates"]?.arrayValue?.map { $0["days_left"]?.integerValue }.suffix(2)
                == [13, 1])
        let problems = status["problems"]?.arrayValue ?? []
        #expect(problems.count { $0["name"]?.stringValue == "certificate_ending" } == 2)
    }

    @Test("tell how long stores and upstreams take, and how many keys there are")
    func durations() throws {
        let upstream = try upstream()
        let gateway = try GatewayProcess(.enforcing(upstreamPort: upstream.port))
        let client = try SimulatedClient.enrolled(gateway)
        #expect(try client.request("GET", "/api/x").status == 200)
        func count(_ family: String, _ labels: String) throws -> Double? {
            try gateway.metric("sallyport_\(family)_duration_seconds_count{\(labels)}")
        }
        #expect(try count("upstream", #"upstream="api""#) == 1)
        #expect(try count("store", #"store="registry",operation="enrol""#) == 1)
        #expect(try count("store", #"store="registry",operation="find_key""#) == 1)
        #expect(
            try gateway.metric(
                #"sallyport_upstream_duration_seconds_bucket{upstream="api",le="+Inf"}"#) == 1)
        // Counted at a start, and now and then.
        try gateway.restart()
        let keys = try gateway.poll { _ in
            try gateway.metric(
                "sallyport_registry_keys{app=\"\(GatewayConfiguration.appID)\","
                    + #"platform="apple",environment="production",status="active"}"#)
        }
        #expect(keys == 1)
    }

    @Test("tell which version of an app is refused")
    func versions() throws {
        let upstream = try upstream()
        let gateway = try GatewayProcess(.enforcing(upstreamPort: upstream.port))
        for (version, tries) in [("4.10", 1), ("4.9", 1), ("5", 3)] {
            let device = try SimulatedDevice(
                appID: GatewayConfiguration.appID, system: .iOS27, bundleVersion: version)
            let client = try SimulatedClient.enrolled(gateway, device: device)
            let fields = try client.signature("GET", "/api/x")
            for index in 0..<tries {
                let answer = try client.raw.exchange("GET", "/api/x", fields: fields)
                #expect(answer.status == (index == 0 ? 200 : 401))
            }
        }
        let silent = try SimulatedDevice(appID: GatewayConfiguration.appID, system: .iOS26)
        let client = try SimulatedClient.enrolled(gateway, device: silent)
        #expect(try client.request("GET", "/api/x").status == 200)
        let page = try gateway.admin("/metrics").bodyText
        let samples = page.split(separator: "\n")
            .filter { $0.hasPrefix("sallyport_app_requests_total{") }
            .map { $0.drop { $0 != "," }.replacing(#",platform="apple""#, with: "") }
        #expect(
            samples == [
                #",version="5",bucket="verified"} 1"#, #",version="5",bucket="replayed"} 2"#,
                #",version="4.10",bucket="verified"} 1"#,
                #",version="4.9",bucket="verified"} 1"#,
                #",version="unknown",bucket="verified"} 1"#,
            ])
    }

    @Test("are what promtool expects", .enabled(if: hasPromtool))
    func promtool() throws {
        let site = try TLSSite()
        var configuration = site.configuration()
        configuration.routes = [
            .init(
                "api", path: "/api/*",
                attest: "mode: enforce, rollout: { start: 1%, step: x2, every: 1d }"),
            .init("rest", path: "/*"),
        ]
        configuration.more = [
            "signals: { keys_per_address: { max: 5 }, conflicts_per_key: { max: 5 } }",
            RecordingCollector.setting(endpoint: "http://127.0.0.1:1"),
        ]
        configuration.binds = ["127.0.0.1:\(FreePort.find())"]
        let gateway = try GatewayProcess(configuration)
        #expect(try site.curl(gateway).standardOutput == "hello\n200")
        let path = try site.directory.write(try gateway.admin("/metrics").bodyText, to: "metrics")
        let outcome = try ChildProcess.run("sh", ["-c", "promtool check metrics < '\(path)'"])
        #expect(outcome.status == .exited(0))
        #expect(outcome.standardError == "" && outcome.standardOutput == "")
    }

    private static let deploy = Repository.folder.appendingPathComponent("deploy")

    @Test(
        "promtool takes the rules, and each of them fires when it should", .enabled(if: hasPromtool)
    )
    func rules() throws {
        let folder = Self.deploy.appendingPathComponent("prometheus").path
        let outcome = try ChildProcess.run(
            "sh",
            [
                "-c",
                "cd '\(folder)' && promtool check rules sallyport.rules.yml"
                    + " && promtool test rules sallyport.test.yml",
            ])
        #expect(outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }

    @Test("promtool takes every expression of the board", .enabled(if: hasPromtool))
    func board() throws {
        let path = Self.deploy.appendingPathComponent("grafana/sallyport.json")
        let board = try JSONSerialization.jsonObject(with: try Data(contentsOf: path))
        let panels = try #require((board as? [String: Any])?["panels"] as? [[String: Any]])
        let targets = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }
        let expressions = targets.compactMap { ($0["expr"] as? String) }.map {
            $0.replacing("$__rate_interval", with: "5m").replacing("$instance", with: "a")
        }
        #expect(expressions.count > 30 && expressions.count == targets.count)
        let rules = expressions.enumerated().map { ["record": "r:\($0)", "expr": $1] }
        // JSON is YAML.
        let file = try JSONSerialization.data(
            withJSONObject: ["groups": [["name": "board", "rules": rules]]],
            options: .withoutEscapingSlashes)
        let directory = try ScratchDirectory()
        let rulesPath = try directory.write(String(decoding: file, as: UTF8.self), to: "b.yml")
        let outcome = try ChildProcess.run("promtool", ["check", "rules", rulesPath])
        #expect(outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
    }
}
