import Policy
import Settings
import Testing

@Suite("Substitution")
struct SubstitutionTests {}

extension SubstitutionTests {
    private static let configuration = Configuration(
        environment: ["A": "1", "EMPTY": "", "REF": "${A}", "_x9": "y", "SP": "a: b, c"],
        files: [
            "/one": "line\n", "/two": "line\n\n", "/crlf": "line\r\n", "/none": "", "/ref": "${A}",
            "/big": String(repeating: "x", count: 65_537),
            "/edge": String(repeating: "x", count: 65_536), "/nul": "a\0b",
        ])

    /// A path takes any text.
    private func expand(_ value: String) throws -> String? {
        let settings = try Self.configuration.settings(
            "secrets: { challenge_key_file: '\(value)' }")
        return settings.secrets.challengeKeyFile
    }

    @Test(
        "replaces variables, defaults and files",
        arguments: [
            ("${A}", "1"), ("x${A}y${A}z", "x1y1z"), ("${_x9}", "y"), ("${A:-d}", "1"),
            ("${B:-d}", "d"), ("${EMPTY:-d}", "d"), ("a${B:-}b", "ab"), ("a${EMPTY}b", "ab"),
            ("${B:-a:-b}", "a:-b"), ("${SP}", "a: b, c"), ("${file:/one}", "line"),
            ("a${file:/none}b", "ab"), ("x${file:/one}${A}", "xline1"),
        ])
    func replaces(value: String, expected: String) throws {
        #expect(try expand(value) == expected)
    }

    @Test(
        "leaves everything else as it is",
        arguments: [
            ("$A", "$A"), ("$$", "$$"), ("a$", "a$"), ("$", "$"), ("{A}", "{A}"),
            ("$ {A}", "$ {A}"),
            ("$${A}", "${A}"), ("$$${A}", "$${A}"), ("$${A}${A}", "${A}1"), ("}", "}"),
            ("a}b", "a}b"),
        ])
    func leaves(value: String, expected: String) throws {
        #expect(try expand(value) == expected)
    }

    @Test("does not look again at what it put in")
    func once() throws {
        #expect(try expand("${REF}") == "${A}")
        #expect(try expand("${file:/ref}") == "${A}")
    }

    @Test("drops one line feed, no more")
    func lineFeed() throws {
        let problem = Self.configuration.problems("secrets: { challenge_key_file: '${file:/two}' }")
        #expect(
            problem == [
                "1:32: secrets.challenge_key_file: \"${file:/two}\" is not a path: it holds a "
                    + "control character"
            ])
        #expect(Self.configuration.problems("workers: '${file:/crlf}'").count == 1)
    }

    @Test(
        "refuses what it cannot replace",
        arguments: [
            (
                "${B}",
                "environment variable B is not set, and ${B} has no default: "
                    + "write ${B:-value} for one"
            ),
            ("${", "${ without its }; write $${ for a literal ${"),
            ("a${A", "${ without its }; write $${ for a literal ${"),
            ("${}", "${} is not a form of ${…}: write ${VAR}, ${VAR:-default} or ${file:/path}"),
            ("${1}", "${1} is not a form of ${…}: write ${VAR}, ${VAR:-default} or ${file:/path}"),
            (
                "${A-b}",
                "${A-b} is not a form of ${…}: write ${VAR}, ${VAR:-default} or ${file:/path}"
            ),
            (
                "${A:b}",
                "${A:b} is not a form of ${…}: write ${VAR}, ${VAR:-default} or ${file:/path}"
            ),
            ("${é}", "${é} is not a form of ${…}: write ${VAR}, ${VAR:-default} or ${file:/path}"),
            ("${A:-${A}}", "${A:-${A}…: ${…} cannot be nested"),
            ("${file:}", "${file:} names no file"),
            ("${file:/absent}", "${file:/absent} cannot be read: No such file or directory"),
            ("${file:/big}", "${file:/big} holds more than 65536 bytes"),
            ("${file:/edge}x", "more than 65536 bytes after ${…}"),
            ("${file:/nul}", "${file:/nul} is not UTF-8 text"),
            ("${EMPTY}", "is empty once ${…} is replaced"),
        ])
    func refuses(value: String, message: String) {
        #expect(
            Self.configuration.problems("secrets: { challenge_key_file: '\(value)' }")
                == ["1:32: secrets.challenge_key_file: \(message)"])
    }

    @Test("works for numbers and words, and in every style of YAML")
    func otherTypes() throws {
        let configuration = Configuration(
            environment: ["N": "3", "UNIT": "s", "MODE": "observe", "P": "api"])
        let settings = try configuration.settings(
            """
            workers: ${N}
            challenge: { ttl: "9${UNIT}" }
            log:
              access: >-
                /var/log/${P}
            routes:
              - name: ${P}
                path: /${P}/*
                upstream: '${P}'
                attest: { mode: "${MODE}", rollout: "${N}0%" }
            """)
        #expect(settings.workerCount == 3)
        #expect(settings.challenge.timeToLive == .seconds(9))
        #expect(settings.log.access == .file(path: "/var/log/api"))
        #expect(settings.routes[0].path == .prefix("/api/"))
        #expect(settings.routes[0].attest.mode == .observe)
        #expect(settings.routes[0].attest.rolloutPercent == 30)
    }

    @Test("is not done in keys")
    func keys() {
        #expect(
            Configuration(environment: ["K": "workers"]).problems("${K}: 1").first?
                .hasPrefix("1:1: unknown key \"${K}\"; known: ") == true)
    }
}
