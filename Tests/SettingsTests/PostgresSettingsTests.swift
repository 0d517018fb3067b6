import Settings
import Testing

@Suite("A registry in PostgreSQL, as configured")
struct PostgresSettingsTests {}

extension PostgresSettingsTests {
    private static let secrets = "secrets: { challenge_key_file: keys }\n"

    private func registry(_ text: String, _ more: String = "") throws -> PostgresSettings {
        var configuration = Configuration()
        configuration.files["/ca.pem"] = "x"
        let settings = try configuration.settings(Self.secrets + "registry: " + text + "\n" + more)
        guard case .postgres(let postgres) = settings.registry else {
            throw ConfigurationProblems([])
        }
        let printed = SettingsPrinter.text(of: settings)
        #expect(!printed.contains("hunter"), "\(printed)")
        if postgres.password == nil {
            let again = try configuration.loader.load(text: printed, fileName: "p").get().settings
            #expect(again == settings)
        }
        return postgres
    }

    private func url(_ url: String) throws -> PostgresSettings {
        try registry("{ postgres: '\(url)' }")
    }

    @Test("reads URLs as libpq does, and prints what reads the same")
    func urls() throws {
        var expected = PostgresSettings(hosts: [.init(name: "h", port: 5432)])
        #expect(try url("postgresql://h") == expected)
        #expect(try url("postgres://H/") == expected)
        expected.user = "u"
        expected.database = "d b"
        #expect(try url("postgresql://u@h/d%20b") == expected)
        expected.password = "hunter2@/:%?"
        #expect(try url("postgresql://u:hunter2%40%2F%3A%25%3F@h/d%20b") == expected)
        expected.password = nil
        expected.hosts = [
            .init(name: "a", port: 1), .init(name: "::1", port: 2),
            .init(name: "10.0.0.1", port: 5432),
        ]
        expected.parameters = ["sslmode": "verify-full", "sslrootcert": "/ca.pem"]
        #expect(
            try url(
                "postgresql://u@a:1,[::1]:2,10.0.0.1/d%20b?sslmode=verify-full"
                    + "&target_session_attrs=read-write&sslrootcert=%2Fca.pem") == expected)
        let socket = PostgresSettings(hosts: [.init(name: "/run/postgresql", port: 5432)])
        #expect(try url("postgresql://%2Frun%2Fpostgresql") == socket)
        #expect(try url("postgresql:///?host=/run/postgresql") == socket)
    }

    @Test("reads every setting beside the URL")
    func everySetting() throws {
        let postgres = try registry(
            """

              postgres: postgresql://u@h/d
              password_file: /run/secrets/db
              schema: attest_2
              pool: 9
              connect_timeout: 1s
              command_timeout: 2s
              stale_max: 1h
            """)
        var expected = PostgresSettings(hosts: [.init(name: "h", port: 5432)])
        expected.user = "u"
        expected.database = "d"
        expected.passwordFile = "/run/secrets/db"
        expected.schema = "attest_2"
        expected.poolCount = 9
        expected.connectTimeout = .seconds(1)
        expected.commandTimeout = .seconds(2)
        expected.staleMax = .seconds(3600)
        #expect(postgres == expected)
    }

    @Test(
        "refuses other URLs without showing them",
        arguments: [
            "postgresql://", "postgresql:///d", "http://hunter2@h", "postgresql:h",
            "postgresql://h:0", "postgresql://h:99999", "postgresql://h/a/b",
            "postgresql://h,/d", "postgresql://u:%zz@h", "postgresql://u:hunter#2@h",
            "postgresql://h?sslmode", "postgresql://h?sslmode=", "postgresql://h?sslmode=hunter",
            "postgresql://h?hunter=1", "postgresql://h?sslmode=require&sslmode=require",
            "postgresql://h?password=hunter2", "postgresql://h?host=/run", "postgresql://a b",
            "postgresql:///d?host=relative", "postgresql://h?target_session_attrs=standby",
            "postgresql://h?connect_timeout=3", "postgresql://h?options=-c%20x",
            "postgresql://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q",
        ])
    func badURLs(url: String) {
        let problems = Configuration().problems(
            Self.secrets + "registry: { postgres: '\(url)' }")
        #expect(problems.count == 1, "\(problems)")
        #expect(problems.allSatisfy { $0.hasPrefix("2:23: registry.postgres: the URL ") })
        #expect(
            problems.allSatisfy { !$0.contains("hunter2") && !$0.contains("hunter#") },
            "\(problems)")
    }

    static let golden: [GoldenCase] = [
        GoldenCase(
            "PostgreSQL without what goes with it",
            "registry: { postgres: postgresql://h/d }",
            expects: """
                1:11: registry: with PostgreSQL, secrets.challenge_key_file is needed: every \
                gateway opens what another one sealed
                """),
        GoldenCase(
            "two places, and settings of the other one",
            """
            secrets: { challenge_key_file: k }
            registry: { postgres: postgresql://h/d, sqlite: /r.db }
            """,
            expects: """
                2:49: registry.sqlite: a registry is kept in one place: leave out sqlite or postgres
                """),
        GoldenCase(
            "settings of PostgreSQL beside a file",
            "registry: { sqlite: /r.db, pool: 3 }",
            expects: "1:28: registry.pool: is used with postgres only"),
        GoldenCase(
            "values out of their range, and a slip",
            """
            secrets: { challenge_key_file: k }
            registry:
              postgres: postgresql://u:p@h/d?sslmod=require
              password_file: /p
              schema: Attest
              pool: 65
              connect_timeout: 99ms
              command_timeout: 2m
              stale_max: 1s
              poool: 1
            """,
            expects: """
                3:13: registry.postgres: the URL has an unknown parameter "sslmod": did you mean \
                "sslmode"?
                5:11: registry.schema: "Attest" is not a schema's name: small letters, digits and \
                _, at most 63, not beginning with a digit or pg_
                6:9: registry.pool: "65" is outside 1 to 64: each connection is a process of the \
                server; commits are shared
                7:20: registry.connect_timeout: "99ms" is outside 100ms to 1m: each address may \
                cost as much
                8:20: registry.command_timeout: "2m" is outside 100ms to 1m: requests wait for it
                9:14: registry.stale_max: "1s" is outside 2s to 7d: a revoked key may be used \
                for as long
                10:3: unknown key "poool" in registry: did you mean "pool"?
                """),
        GoldenCase(
            "two passwords, and a file that is not there",
            """
            secrets: { challenge_key_file: k }
            registry:
              postgres: postgresql://u:hunter2@h/d?sslmode=verify-ca&sslrootcert=/none
              password_file: /p
            """,
            expects: """
                3:13: registry.postgres: sslrootcert: "/none" cannot be read: No such file or \
                directory
                4:18: registry.password_file: a password is given in the URL too: leave one out
                """),
    ]

    @Test("says everything that is wrong, and where", arguments: golden)
    func problems(golden: GoldenCase) {
        #expect(Configuration.golden.problems(golden.text) == golden.problems)
    }

    @Test("warns of a server that nobody checks, and of embedded counters")
    func warnings() throws {
        let far = "registry: { postgres: 'postgresql://db.example.org/d?sslmode=require' }\n"
        let warnings = try Configuration().warnings(Self.secrets + far)
        #expect(
            warnings == [
                "2:11: registry: counters are embedded, which is for one gateway only: each start"
                    + " asks every app to sign once more",
                "2:23: registry.postgres: sslmode is require: any server that answers is trusted"
                    + " and sees every key; write sslmode=verify-full",
            ], "\(warnings)")
        let near = "registry: { postgres: 'postgresql://127.0.0.1/d' }\n"
        #expect(
            try Configuration().warnings(
                Self.secrets + near + "counters: { redis: 'redis://127.0.0.1' }") == [])
    }
}
