import Settings
import TLS
import Testing

@Suite("A Redis in the settings")
struct RedisSettingsTests {}

extension RedisSettingsTests {
    private func configuration() throws -> Configuration {
        let (certificate, key) = try TLSSettingsTests.pair()
        return Configuration(files: [
            "/ca": certificate, "/crt": certificate, "/key": key, "/p": "hunter2\n",
            "/s": "hunter3\r\n", "/etc/ssl/cert.pem": certificate,
        ])
    }

    private struct OtherCounters: Error {}

    private func redis(_ text: String, _ configuration: Configuration) throws -> RedisSettings {
        guard case .redis(let redis) = try configuration.settings(text).counters else {
            throw OtherCounters()
        }
        return redis
    }

    private static let sentinel = """
        counters:
          redis:
            sentinel:
              addresses: ["a:1", "[::1]:2"]
              master: main
              username: s
              password_file: /s
              tls: { ca: /ca, server_name: sentinel }
            username: u
            password_file: /p
            tls: { ca: /ca, certificate: /crt, key: /key }
            wait: { replicas: 2 }
        """

    @Test("Sentinels: every key, and printed it loads to the same, without the passwords")
    func sentinel() throws {
        let configuration = try configuration()
        let settings = try configuration.settings(Self.sentinel)
        guard case .redis(let redis) = settings.counters,
            case .sentinel(let sentinel) = redis.place
        else {
            Issue.record("no Sentinels")
            return
        }
        #expect(sentinel.addresses == [.tcp(host: "a", port: 1), .tcp(host: "::1", port: 2)])
        #expect(sentinel.login.password == "hunter3" && redis.login.password == "hunter2")
        #expect(sentinel.tls?.serverName == "sentinel" && redis.tls?.files != nil)
        #expect(redis.wait?.replicaCount == 2 && redis.wait?.timeout == .milliseconds(50))
        let text = SettingsPrinter.text(of: settings)
        #expect(!text.contains("hunter"))
        let again = try configuration.loader.load(text: text, fileName: "printed").get().settings
        #expect(again == settings)
    }

    @Test("a cluster, and TLS by the system's authorities in a URL")
    func others() throws {
        let configuration = try configuration()
        let cluster = try redis(
            "counters: { redis: { cluster: { addresses: ['a:1', 'b:2'] } } }", configuration)
        #expect(cluster.place == .cluster([.tcp(host: "a", port: 1), .tcp(host: "b", port: 2)]))
        let secured = try redis("counters: { redis: 'rediss://h' }", configuration)
        #expect(secured.tls?.verifies == true && secured.tls?.configuration.authorities != nil)
        let own = try redis(
            "counters: { redis: 'rediss://h', tls: { ca: /ca }, database: 2 }", configuration)
        #expect(own.tls?.authoritiesPath == "/ca" && own.database == 2)
    }

    @Test("a reload may change passwords and certificates, and nothing else")
    func reload() throws {
        var configuration = try configuration()
        let before = try configuration.settings(Self.sentinel).counters
        configuration.files["/p"] = "other"
        configuration.files["/ca"] = try TLSSettingsTests.pair("other").certificate
        let after = try configuration.settings(Self.sentinel).counters
        #expect(before != after && before.mayBecome(after))
        for other in [
            Self.sentinel.replacing("master: main", with: "master: other"),
            Self.sentinel.replacing("replicas: 2", with: "replicas: 1"),
            Self.sentinel.replacing("server_name: sentinel", with: "server_name: other"),
            "counters: embedded", "counters: { redis: 'redis://h' }",
        ] {
            #expect(!before.mayBecome(try configuration.settings(other).counters))
        }
    }
}
