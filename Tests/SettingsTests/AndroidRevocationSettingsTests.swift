import HTTPSClient
import Settings
import Testing

@Suite("trust.android.revocation")
struct AndroidRevocationSettingsTests {
    private static let app =
        "apps: [{ android: com.example.app, signing_digests: ['"
        + String(repeating: "ab", count: 32) + "'] }]\n"
    private let configuration: Configuration

    init() throws {
        var configuration = Configuration()
        configuration.files["/root.pem"] = try Configuration.rootPEM()
        self.configuration = configuration
    }
}

extension AndroidRevocationSettingsTests {
    private static func text(_ revocation: String) -> String {
        "trust: { android: { revocation: \(revocation) } }"
    }

    private func read(_ revocation: String) throws -> AndroidRevocationSettings {
        try configuration.settings(Self.text(revocation)).trust.androidRevocation
    }

    @Test("is Google's list, hourly, for a week, if nothing is said")
    func standard() throws {
        let revocation = try configuration.settings("").trust.androidRevocation
        #expect(revocation.url == "https://android.googleapis.com/attestation/status")
        #expect(revocation.refresh == .seconds(3600) && revocation.ageMax == .seconds(604_800))
    }

    @Test("names another URL, a file, or none")
    func forms() throws {
        let url = try read("{ url: 'https://mirror.example/list', refresh: 5m, max_age: 2d }")
        #expect(url.source == .url("https://mirror.example/list") && url.path == nil)
        #expect(url.refresh == .seconds(300) && url.ageMax == .seconds(172_800))
        let own = try read("{ url: 'https://mirror.example/list', ca: /root.pem }")
        #expect(own.configuration(byteCountMax: 7).authorities != nil)
        #expect(own.configuration(byteCountMax: 7).responseByteCountMax == 7)
        let plain = try read("{ url: 'http://127.0.0.1:8/list' }")
        #expect(plain.configuration(byteCountMax: 1).allowsPlainHTTP)
        let file = try read("{ file: /list.json, refresh: 60s }")
        #expect(file.source == .file("/list.json") && file.url == nil)
        #expect(try read("off").source == .off)
    }

    @Test("off is warned of")
    func warned() throws {
        let warnings = try configuration.warnings(Self.text("off"))
        #expect(warnings.count == 1 && warnings[0].contains("WITHDRAWN ARE ACCEPTED"))
        #expect(try configuration.warnings(Self.text("{ file: /list.json }")).isEmpty)
    }

    @Test(
        "a list that strangers could write, or that would never count, is refused",
        arguments: [
            ("{ url: 'http://mirror.example/list' }", "without TLS"),
            ("{ url: 'https://user:word@mirror.example/list' }", "is not a URL of a list"),
            ("{ url: mirror.example }", "is not a URL of a list"),
            ("{ url: 'https://mirror.example/', file: /list.json }", "no use beside file"),
            ("{ file: /list.json, ca: /root.pem }", "no use beside file"),
            ("{ url: 'http://127.0.0.1/', ca: /root.pem }", "https URL only"),
            ("{ refresh: 1s }", "refresh"), ("{ refresh: 2d }", "refresh"),
            ("{ max_age: 1m }", "max_age"), ("{ max_age: 400d }", "max_age"),
            ("{ refresh: 2h, max_age: 1h }", "is not longer than refresh"), ("on", "revocation"),
        ])
    func refused(revocation: String, words: String) throws {
        let problems = configuration.problems(Self.text(revocation))
        #expect(problems.count == 1 && problems[0].contains(words), "\(problems)")
    }

    @Test("is fetched through the proxy of apple, by the system's authorities, if an app needs it")
    func needed() throws {
        var configuration = try Configuration.onReadyMachine()
        configuration.files["/root.pem"] = try Configuration.rootPEM()
        #expect(try configuration.settings("").neededRevocation == nil)
        let needed = try configuration.settings(Self.app).neededRevocation
        let https = try #require(needed).configuration(byteCountMax: 1)
        #expect(https.authorities != nil && https.proxy == .environment)
        let off = try configuration.settings(Self.app + Self.text("off")).neededRevocation
        #expect(off?.source == .off)
    }
}
