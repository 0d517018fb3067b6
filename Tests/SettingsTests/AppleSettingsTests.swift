import AppAttest
import AppleServices
import Attestation
import Crypto
import HTTPSClient
import Settings
import Testing

@Suite("Apple's services in the settings")
struct AppleSettingsTests {}

extension AppleSettingsTests {
    private func configuration() throws -> Configuration {
        let (certificate, key) = try TLSSettingsTests.pair()
        let other = String(decoding: try P256PrivateKey.generate().pem(), as: UTF8.self)
        let large = String(decoding: try ECPrivateKey.generate(.p384).pem(), as: UTF8.self)
        return Configuration(files: [
            "/a.p8": key, "/b.p8": other, "/large.p8": large, "/ca": certificate,
            "/garbage": "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n",
            "/word": "hunter2\n", "/etc/ssl/cert.pem": certificate,
        ])
    }

    private static let everyKey = """
        apple:
          keys:
            - { key_id: AAAAAAAAA1, file: /a.p8 }
            - { key_id: AAAAAAAAA2, file: /b.p8, team_id: ABCDE12345 }
          authorization: bearer
          proxy: https://proxy.example:3128
          ca: /ca
          connect_timeout: 2s
          timeout: 20s
          in_flight_max: 7
          hosts:
            attestation_data: { production: 'https://127.0.0.1:1' }
            device_check: { development: 'https://h.example' }
        """

    @Test("every key, and printed it loads to the same")
    func everyKey() throws {
        let configuration = try configuration()
        let settings = try configuration.settings(Self.everyKey)
        let apple = try #require(settings.apple)
        #expect(apple.keys.map(\.key.keyID) == ["AAAAAAAAA1", "AAAAAAAAA2"])
        #expect(apple.keys.map(\.key.teamID) == ["ABCDE12345", "ABCDE12345"])
        #expect(apple.keys.map(\.path) == ["/a.p8", "/b.p8"])
        #expect(apple.keys[0].key != apple.keys[1].key)
        let made = apple.configuration
        #expect(made.authorization == .bearer)
        #expect(made.https.proxy == .url("https://proxy.example:3128"))
        #expect(made.https.connectTimeout == .seconds(2) && made.https.timeout == .seconds(20))
        #expect(made.https.inFlightCountMax == 7)
        #expect(made.attestationData.production == "https://127.0.0.1:1")
        #expect(made.attestationData.development == AppleHosts.attestationData.development)
        #expect(made.deviceCheck.production == "https://api.devicecheck.apple.com")
        #expect(made.deviceCheck.development == "https://h.example")
        let text = SettingsPrinter.text(of: settings)
        let again = try configuration.loader.load(text: text, fileName: "printed").get().settings
        #expect(again == settings)
    }

    @Test("by default Apple's own hosts, the system's authorities, the environment's proxy")
    func defaults() throws {
        let configuration = try configuration()
        let text = "apple: { keys: [{ key_id: AAAAAAAAA1, file: /a.p8 }] }"
        let apple = try #require(try configuration.settings(text).apple)
        #expect(apple.authoritiesPath == nil && apple.proxy == .environment)
        #expect(apple.attestationData == AppleHosts.attestationData)
        #expect(apple.deviceCheck == AppleHosts.deviceCheck && apple.authorization == .bare)
        #expect(try configuration.warnings(text) == [])
        #expect(try configuration.settings("workers: 1").apple == nil)
        var without = configuration
        without.files["/etc/ssl/cert.pem"] = nil
        #expect(
            without.problems(text) == [
                "1:8: apple: the system has no bundle of authorities: name a file in ca"
            ])
    }

    @Test("a key whose file holds another key by now makes other settings")
    func rotation() throws {
        var configuration = try configuration()
        let before = try configuration.settings(Self.everyKey)
        #expect(try configuration.settings(Self.everyKey) == before)
        configuration.files["/a.p8"] = configuration.files["/b.p8"]
        #expect(try configuration.settings(Self.everyKey) != before)
    }

    @Test("hosts of others are warned of")
    func hosts() throws {
        let warnings = try configuration().warnings(Self.everyKey)
        #expect(
            warnings == [
                "12:23: apple.hosts.attestation_data: NOT APPLE'S, yet its answers are believed",
                "13:19: apple.hosts.device_check: NOT APPLE'S, yet its answers are believed",
            ])
    }

    @Test("a proxy's password is read from where it is kept, and never printed")
    func password() throws {
        let configuration = try configuration()
        let settings = try configuration.settings(
            """
            apple:
              keys: [{ key_id: AAAAAAAAA1, file: /a.p8 }]
              proxy: "http://user:${file:/word}@proxy.example:3128"
            """)
        #expect(settings.apple?.proxy == .url("http://user:hunter2@proxy.example:3128"))
        let text = SettingsPrinter.text(of: settings)
        #expect(!text.contains("hunter"))
        #expect(text.contains("http://user:***@proxy.example:3128"))
        #expect(text.contains("# The password of Apple's proxy is shown as ***."))
        for (written, expected) in [
            ("off", HTTPSConfiguration.Proxy.direct), ("environment", .environment),
            ("socks5h://[::1]:1080", .url("socks5h://[::1]:1080")),
        ] {
            let found = try configuration.settings(
                "apple: { keys: [{ key_id: AAAAAAAAA1, file: /a.p8 }], proxy: '\(written)' }")
            #expect(found.apple?.proxy == expected)
        }
    }

    @Test("teams of several apps have keys of their own")
    func teams() throws {
        let apps = """
            apps: [{ id: ABCDE12345.a }, { id: ABCDE12345.b }, { id: FGHIJ67890.c }]
            routes: [{ name: all, path: '/*', upstream: api, attest: { mode: enforce, apps: any } }]

            """
        let configuration = try configuration()
        let settings = try configuration.settings(
            apps + """
                apple:
                  keys:
                    - { key_id: AAAAAAAAA1, file: /a.p8, team_id: FGHIJ67890 }
                    - { key_id: AAAAAAAAA1, file: /b.p8, team_id: ABCDE12345 }
                """)
        #expect(settings.apple?.keys.map(\.key.teamID) == ["FGHIJ67890", "ABCDE12345"])
        #expect(
            configuration.problems(apps + "apple: { keys: [{ key_id: AAAAAAAAA1, file: /a.p8 }] }")
                == ["3:17: apple.keys[0]: the apps are of several teams: write team_id"])
    }

    @Test("a token of DeviceCheck does not tell the apps of a team apart")
    func devicesOfApps() throws {
        let configuration = try configuration()
        func problems(_ apps: String) -> [String] {
            configuration.problems(
                """
                apps: [{ id: ABCDE12345.a }, { id: ABCDE12345.b }, { id: FGHIJ67890.c }]
                apple: { keys: [{ key_id: AAAAAAAAA1, file: /a.p8, team_id: ABCDE12345 }] }
                device_check: { team_id: ABCDE12345 }
                routes:
                  - name: all
                    path: /*
                    upstream: api
                    attest: { mode: enforce, accept: [device_check], apps: \(apps) }
                """)
        }
        for apps in ["any", "[ABCDE12345.a, ABCDE12345.b]"] { #expect(problems(apps).isEmpty) }
        for apps in ["[ABCDE12345.a]", "[ABCDE12345.a, FGHIJ67890.c]", "[FGHIJ67890.c]"] {
            #expect(
                problems(apps) == [
                    "8:21: routes[0].attest.apps: with accept: device_check must name every app "
                        + "of team ABCDE12345 (or any): such a token does not say which of them "
                        + "made it"
                ])
        }
    }

    @Test("says everything that is wrong, and where, and shows no secret")
    func problems() throws {
        let problems = try configuration().problems(
            """
            apple:
              keys:
                - { key_id: short, file: /a.p8 }
                - { key_id: AAAAAAAAA1, file: /absent }
                - { key_id: AAAAAAAAA1, file: /garbage }
                - { key_id: AAAAAAAAA1, file: /large.p8, team_id: ABCDE12346 }
                - { key_id: AAAAAAAAA1, file: /a.p8 }
                - { key_id: AAAAAAAAA1, file: /b.p8 }
                - { file: /a.p8, team: x }
              authorization: basic
              proxy: "http://user:hunter2@proxy/path"
              ca: /word
              connect_timeout: 2m
              timeout: 5
              in_flight_max: 0
              hosts:
                attestation_data: { production: 'http://h', develop: x }
                device_check: { production: 'https://h/path', development: 'https://h:0' }
                other: {}
            """)
        #expect(
            problems == [
                "3:17: apple.keys[0].key_id: \"short\" is not an id of Apple's: 10 upper-case "
                    + "letters or digits",
                "4:35: apple.keys[1].file: \"/absent\" cannot be read: No such file or directory",
                "5:35: apple.keys[2].file: \"/garbage\" is not an unencrypted private key on "
                    + "P-256 in PEM, as Apple's .p8 files are",
                "6:35: apple.keys[3].file: \"/large.p8\" is not an unencrypted private key on "
                    + "P-256 in PEM, as Apple's .p8 files are",
                "6:55: apple.keys[3].team_id: no app is of team \"ABCDE12346\": did you mean "
                    + "\"ABCDE12345\"?",
                "8:7: apple.keys[5]: key \"AAAAAAAAA1\" is listed twice",
                "9:7: apple.keys[6]: required key \"key_id\" is missing",
                "9:22: unknown key \"team\" in apple.keys[6]: did you mean \"team_id\"?",
                "10:18: apple.authorization: \"basic\" is not one of bare, bearer",
                "11:10: apple.proxy: is neither environment, off, nor a URL: write "
                    + "http://host:port (or https, socks5, socks5h), with user:password@ before "
                    + "the host if it needs them",
                "12:7: apple.ca: \"/word\": holds no PEM certificate",
                "13:20: apple.connect_timeout: \"2m\" is outside 100ms to 1m: requests wait for it",
                "14:12: apple.timeout: \"5\" has no unit: write 5s (units: ms, s, m, h, d)",
                "15:18: apple.in_flight_max: \"0\" is outside 1 to 10000: each waiting request "
                    + "holds memory",
                "17:37: apple.hosts.attestation_data.production: \"http://h\" is not a place: "
                    + "write https://host or https://host:port",
                "17:49: unknown key \"develop\" in apple.hosts.attestation_data: did you mean "
                    + "\"development\"?",
                "18:33: apple.hosts.device_check.production: \"https://h/path\" is not a place: "
                    + "write https://host or https://host:port",
                "18:64: apple.hosts.device_check.development: \"https://h:0\" is not a place: "
                    + "write https://host or https://host:port",
                "19:5: unknown key \"other\" in apple.hosts; known: attestation_data, device_check",
            ])
    }

    // MARK: DeviceCheck

    private static let key = "apple: { keys: [{ key_id: AAAAAAAAA1, file: /a.p8 }] }\n"

    @Test("DeviceCheck: every key, and printed it loads to the same")
    func deviceCheck() throws {
        var configuration = try configuration()
        configuration.files["/s"] = "0123456789abcdef\nmore"
        let settings = try configuration.settings(
            Self.key + """
                device_check:
                  team_id: ABCDE12345
                  environments: [development, production]
                  rate: 30/m
                  in_flight_max: 5
                  token_memory: 10m
                  bits: { bit0: trial_used, bit1: banned }
                  admin_secret_file: /s
                """)
        let found = try #require(settings.deviceCheck)
        #expect(found.environments == [.development, .production])
        #expect(found.rate == RateLimitSettings.Rate(count: 30, period: .minute))
        #expect(found.inFlightCountMax == 5 && found.tokenMemory == .seconds(600))
        #expect(found.bitNames == ["trial_used", "banned"])
        #expect(found.adminSecret?.bytes == Array("0123456789abcdef".utf8))
        let text = SettingsPrinter.text(of: settings)
        #expect(!text.contains("0123456789"))
        let again = try configuration.loader.load(text: text, fileName: "printed").get().settings
        #expect(again == settings)
        let plain = try configuration.settings(Self.key + "device_check: {}").deviceCheck
        #expect(plain == DeviceCheckSettings(teamID: "ABCDE12345"))
        #expect(try configuration.settings(Self.key).deviceCheck == nil)
    }

    @Test("DeviceCheck: says everything that is wrong, and where")
    func deviceCheckProblems() throws {
        let problems = try configuration().problems(
            Self.key + """
                device_check:
                  team_id: ABCDE12346
                  environments: []
                  rate: 30
                  in_flight_max: 0
                  token_memory: 25h
                  bits: { bit0: same, bit1: same, bit2: x }
                  admin_secret_file: /word
                  secret: x
                """)
        #expect(
            problems == [
                "3:12: device_check.team_id: apple has no key of team \"ABCDE12346\": did you mean "
                    + "\"ABCDE12345\"?",
                "4:17: device_check.environments: is empty: no device would be known",
                "5:9: device_check.rate: \"30\" is not a rate: write one like 100/s, 30/m or "
                    + "1000/h",
                "6:18: device_check.in_flight_max: \"0\" is outside 1 to 10000: each waiting "
                    + "request holds memory",
                "7:17: device_check.token_memory: \"25h\" is outside 1m to 1d: Apple forgets "
                    + "tokens too",
                "8:9: device_check.bits: one name would mean both bits",
                "8:35: unknown key \"bit2\" in device_check.bits: did you mean \"bit0\"?",
                "9:22: device_check.admin_secret_file: \"/word\" holds a secret of 7 bytes: 16 are "
                    + "needed",
                "10:3: unknown key \"secret\" in device_check; known: team_id, environments, rate, "
                    + "in_flight_max, token_memory, bits, admin_secret_file",
            ])
        #expect(
            try configuration().problems("device_check: {}")
                == ["1:15: device_check: needs apple, by which Apple is asked about devices"])
        #expect(
            try configuration().problems(
                "routes: [{ name: a, path: /a, upstream: api, "
                    + "attest: { mode: enforce, accept: [device_check] } }]") == [
                    "1:62: routes[0].attest.accept: device_check needs the sections apple and "
                        + "device_check, without which Apple cannot be asked"
                ])
    }

    @Test("asks for a key, and for no more than a rotation needs")
    func counts() throws {
        let configuration = try configuration()
        #expect(
            configuration.problems("apple: { keys: [] }")
                == ["1:16: apple.keys: is empty: no team can sign in"])
        #expect(
            configuration.problems("apple: {}")
                == ["1:8: apple: required key \"keys\" is missing"])
        let keys = (1...5).map { "{ key_id: AAAAAAAAA\($0), file: /a.p8 }" }.joined(separator: ", ")
        #expect(
            configuration.problems("apple: { keys: [\(keys)] }")
                == [
                    "1:165: apple.keys[4]: more than 4 keys of team ABCDE12345: a request that is "
                        + "refused tries them all"
                ])
    }

    // MARK: signals.keys_per_device_bit

    private static let bits = key + "device_check: { bits: { bit0: trial_used, bit1: banned } }\n"

    @Test("keys per device bit: every key, and printed it loads to the same")
    func deviceBits() throws {
        let configuration = try configuration()
        let settings = try configuration.settings(
            Self.bits + """
                rate_limits: { suspects: { by: key, rate: 1/s } }
                signals:
                  keys_per_device_bit:
                    token: required
                    bits:
                      banned: { max: 0, window: 30d, action: deny }
                      trial_used: { max: 7, window: 24h, action: { limit: suspects } }
                """)
        let found = try #require(settings.signals.deviceBits)
        #expect(found.token == .required)
        #expect(found.rules.map { $0?.countMax } == [7, 0])
        #expect(found.rules.map { $0?.action } == [.limit, .deny])
        #expect(found.rules[0]?.window == .seconds(24 * 3600))
        #expect(settings.signals.rules.count == 2 && !settings.signals.isEmpty)
        let text = SettingsPrinter.text(of: settings)
        let again = try configuration.loader.load(text: text, fileName: "printed").get().settings
        #expect(again == settings)
        // Asked and told alone; and any key of such a device.
        let plain = try configuration.settings(
            Self.key + "device_check: {}\nsignals: { keys_per_device_bit: {} }")
        #expect(plain.signals.deviceBits == SignalSettings.DeviceBits())
        let printed = SettingsPrinter.text(of: plain)
        #expect(
            try configuration.loader.load(text: printed, fileName: "printed").get().settings
                == plain)
        let one = try configuration.settings(
            Self.bits + "signals: { keys_per_device_bit: { bits: { banned: {} } } }")
        #expect(one.signals.deviceBits?.rules[0] == nil)
        #expect(one.signals.deviceBits?.rules[1] == .init(countMax: 0, window: .seconds(2_592_000)))
    }

    @Test("keys per device bit: says everything that is wrong, and where")
    func deviceBitProblems() throws {
        let problems = try configuration().problems(
            Self.bits + """
                signals:
                  keys_per_device_bit:
                    token: always
                    bits:
                      baned: { max: 0 }
                      bit0: {}
                      banned: { max: -1, window: 30y, action: refuse }
                      trial_used: { max: 1000001, action: { limit: nobody } }
                    other: 1
                """)
        #expect(
            problems == [
                "5:12: signals.keys_per_device_bit.token: \"always\" is not one of optional, "
                    + "required",
                "7:7: unknown key \"baned\" in signals.keys_per_device_bit.bits: did you mean "
                    + "\"banned\"?",
                "8:7: unknown key \"bit0\" in signals.keys_per_device_bit.bits; known: "
                    + "trial_used, banned",
                "9:22: signals.keys_per_device_bit.bits.banned.max: \"-1\" is not a whole number "
                    + "without unit",
                "9:34: signals.keys_per_device_bit.bits.banned.window: \"30y\" is not a duration: "
                    + "write one like 30s, 250ms, 5m, 24h or 30d",
                "9:47: signals.keys_per_device_bit.bits.banned.action: \"refuse\" is not one of "
                    + "observe, deny",
                "10:26: signals.keys_per_device_bit.bits.trial_used.max: \"1000001\" is outside 0 "
                    + "to 1000000: only higher counts raise the signal",
                "10:52: signals.keys_per_device_bit.bits.trial_used.action.limit: no rate limit is "
                    + "named \"nobody\"; known: attestation, challenge",
                "11:5: unknown key \"other\" in signals.keys_per_device_bit; known: token, bits",
            ])
        #expect(
            try configuration().problems("signals: { keys_per_device_bit: {} }")
                == [
                    "1:33: signals.keys_per_device_bit: needs device_check, by which Apple is "
                        + "asked about devices"
                ])
    }
}
