import Bytes
import Crypto
import Settings
import Testing

@Suite("Settings of the admin API")
struct AdminAPISettingsTests {}

extension AdminAPISettingsTests {
    private static let token = String(repeating: "0a", count: 16)

    private func configuration(_ tokens: String) -> Configuration {
        var configuration = Configuration()
        configuration.files["/tokens"] = tokens
        return configuration
    }

    private func section(_ bind: String) -> String {
        "admin: { bind: '127.0.0.1:1', api: { bind: '\(bind)', token_file: /tokens } }\n"
    }

    @Test(
        "names and hashes of tokens are kept, the tokens are not, and printed it loads to the same")
    func tokens() throws {
        let other = String(repeating: "b-._~+/=", count: 4)
        let configuration = configuration(
            "# first\r\n\n  ops:\(Self.token)  \n\(other)\nops:\(other)2\n")
        let settings = try configuration.settings(section("127.0.0.1:2"))
        let api = try #require(settings.admin?.api)
        let digest = SHA256.hash(Array(other.utf8))
        let prefix = Hex.encode(Array(digest.array.prefix(4)))
        #expect(api.tokens.map(\.name) == ["ops", "token-\(prefix)", "ops"])
        #expect(api.tokens[0].digest == SHA256.hash(Array(Self.token.utf8)))
        #expect(api.tokens[1].digest == digest)
        #expect(settings.binds.contains(.tcp(host: "127.0.0.1", port: 2)))
        #expect(settings.secretFiles.contains { $0.setting == "admin.api.token_file" })
        #expect(settings.tlsListeners.last?.bind == api.bind)
        let text = SettingsPrinter.text(of: settings)
        #expect(!text.contains(Self.token))
        let again = try configuration.loader.load(text: text, fileName: "printed").get().settings
        #expect(again == settings)
    }

    @Test("a bad file of tokens is named with its line, and nothing of it is shown")
    func problems() throws {
        let token = Self.token
        let at = "1:71: admin.api.token_file: \"/tokens\" "
        let cases: [(file: String, message: String)] = [
            ("", "holds no token: write one on a line (openssl rand -hex 32)"),
            ("# x\n", "holds no token: write one on a line (openssl rand -hex 32)"),
            (
                "a:\(token)\nshort",
                "line 2: a token of 5 characters: 32 to 512 are needed"
            ),
            (
                String(repeating: "x", count: 513),
                "line 1: a token of 513 characters: 32 to 512 are needed"
            ),
            (
                "\(token) \(token)",
                "line 1: a token is of letters, digits and -._~+/=, and its name stands before a "
                    + "colon"
            ),
            (
                "a:b:\(token)",
                "line 1: a token is of letters, digits and -._~+/=, and its name stands before a "
                    + "colon"
            ),
            (
                "a b:\(token)",
                "line 1: the name before the colon is not 1 to 64 letters, digits, periods, "
                    + "hyphens and underscores"
            ),
            ("a:\(token)\nb:\(token)", "line 2: the same token again"),
            (
                (0..<65).map { "\(token)\($0)" }.joined(separator: "\n"),
                "holds more than 64 tokens"
            ),
        ]
        for (file, message) in cases {
            let problems = configuration(file).problems(section("127.0.0.1:2"))
            #expect(problems == [at + message])
        }
        #expect(
            Configuration().problems(section("127.0.0.1:1")).contains {
                $0.contains("/tokens\" cannot be read")
            })
        #expect(
            configuration(token).problems(section("127.0.0.1:1")) == [
                "1:44: 127.0.0.1:1 is bound at 1:16 already"
            ])
    }

    @Test("plain HTTP beyond this machine is warned about")
    func warnings() throws {
        let configuration = configuration(Self.token)
        func warnings(_ bind: String) throws -> [String] {
            try configuration.warnings(section(bind)).filter {
                $0.contains("plain HTTP from other")
            }
        }
        for bind in ["127.0.0.1:2", "[::1]:2", "unix:/run/api", "localhost:2"] {
            #expect(try warnings(bind).isEmpty, "\(bind)")
        }
        for bind in ["0.0.0.0:2", "10.0.0.1:2", "[::]:2", "gateway.internal:2"] {
            #expect(try warnings(bind).count == 1, "\(bind)")
        }
    }
}
