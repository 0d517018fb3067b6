import HTTPSClient
import Settings
import Testing

@Suite("otlp")
struct OTLPSettingsTests {}

extension OTLPSettingsTests {
    private func settings(
        _ text: String, _ configuration: Configuration = Configuration()
    ) throws -> OTLPSettings {
        try #require(try configuration.settings("otlp: { \(text) }").otlp)
    }

    @Test("is off by default, and needs no more than a place")
    func defaults() throws {
        #expect(try Configuration().settings("").otlp == nil)
        let otlp = try settings("endpoint: http://127.0.0.1:4318")
        #expect(otlp.endpoint == "http://127.0.0.1:4318" && otlp.headers.isEmpty)
        #expect(otlp.metricsInterval == .seconds(30) && otlp.samplePercent == 1)
        #expect(otlp.spanLimit == .init(count: 100, period: .second))
        #expect(otlp.configuration.allowsPlainHTTP && otlp.configuration.authorities == nil)
        #expect(otlp.configuration.inFlightCountMax == 2)
    }

    @Test("takes places with and without a port, path and TLS")
    func places() throws {
        var configuration = Configuration()
        configuration.files["/root.pem"] = try Configuration.rootPEM()
        for (text, place) in [
            ("https://c.example", "https://c.example"),
            ("https://c.example:4318/a/b//", "https://c.example:4318/a/b"),
            ("https://[::1]:4318", "https://[::1]:4318"),
        ] {
            let otlp = try settings("endpoint: '\(text)', ca: /root.pem", configuration)
            #expect(otlp.endpoint == place)
            #expect(!otlp.configuration.allowsPlainHTTP && otlp.configuration.authorities != nil)
        }
        for text in [
            "c.example:4318", "HTTP://h", "http://", "http:///v1", "http://h:0", "http://h:65536",
            "http://u:p@h:1", "http://h?x", "http://h/#x", "http://h /x", "grpc://h:4317",
        ] {
            #expect(
                Configuration().problems("otlp: { endpoint: '\(text)' }").count == 1, "\(text)")
        }
    }

    @Test("off means off: no spans, or no metrics")
    func off() throws {
        let place = "endpoint: http://127.0.0.1:4318"
        #expect(try settings("\(place), sample: off").samplePercent == nil)
        #expect(try settings("\(place), sample: 0%").samplePercent == 0)
        #expect(try settings("\(place), metrics_interval: off").metricsInterval == .zero)
    }

    @Test("warns of what crosses the Internet in clear text")
    func warnings() throws {
        func warnings(_ place: String) throws -> [String] {
            try Configuration().warnings("otlp: { endpoint: '\(place)' }")
        }
        #expect(
            try warnings("http://c.example:4318") == [
                "1:7: otlp: c.example:4318 is reached without TLS: paths, addresses and headers "
                    + "travel in clear text"
            ])
        for place in ["http://127.0.0.1:4318", "http://10.1.2.3:4318", "http://localhost:4318"] {
            #expect(try warnings(place) == [])
        }
    }

    @Test("headers that let the gateway in are secrets, and are masked if they came from elsewhere")
    func headers() throws {
        let configuration = Configuration(files: ["/token": "Bearer hunter2-hunter2\n"])
        let settings = try configuration.settings(
            """
            otlp:
              endpoint: http://127.0.0.1:4318
              headers: { Authorization: "${file:/token}", X-Api-Key: clear-text-key, X-Org: org }
            """)
        #expect(settings.passwords == ["Bearer hunter2-hunter2", "clear-text-key"])
        let text = SettingsPrinter.text(of: settings)
        #expect(!text.contains("hunter2") && text.contains("Authorization: \"***\""))
        #expect(text.contains("X-Org: org\n"))
    }
}
