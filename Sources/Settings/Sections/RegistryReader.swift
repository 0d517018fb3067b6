/// Declares `registry`: the path of an SQLite database, or the URL of a PostgreSQL with its options
/// beside it.
struct RegistryReader {
    private var sqlitePath: String?
    private var postgres = PostgresSettings(hosts: [])
    /// Whether the options of PostgreSQL are printed.
    private var hasOptions: Bool { sqlitePath == nil }

    static var kind: Kind<RegistrySettings> {
        Kind.section(form, meant: "sqlite") { section, registry in
            if section.field("postgres") != nil {
                section.field("sqlite")?.error(
                    "a registry is kept in one place: leave out sqlite or postgres")
            } else {
                _ = section.required("sqlite")
                section.refuse(options.map(\.key), "is used with postgres only")
            }
        }.map { registry in
            if let path = registry.sqlitePath { return .sqlite(path: path) }
            return registry.postgres.hosts.isEmpty ? nil : .postgres(registry.postgres)
        } from: { settings in
            switch settings {
            case .sqlite(let path): RegistryReader(sqlitePath: path)
            case .postgres(let postgres): RegistryReader(postgres: postgres)
            }
        }
    }

    private static var form: Form<RegistryReader> {
        Form(RegistryReader()) {
            Setting(
                "sqlite", optional: \.sqlitePath,
                Kind.path(.path, "is not the path of a file: enrolled keys must be kept") { path in
                    path != ":memory:" && !path.hasPrefix("file:") && !path.hasSuffix("/")
                },
                "An SQLite database in an existing, writable directory.")
            Setting(
                "postgres", \.postgres, url,
                "The URL of a PostgreSQL that several gateways share, version 13 or later, in "
                    + "libpq's form: host:port, [v6]:port, or ?host=/run/postgresql. Parameters: "
                    + "sslmode, sslrootcert, sslcert, sslkey, sslcrl, channel_binding, "
                    + "ssl_min_protocol_version and application_name.")
            options
        }
    }

    @FormBuilder<RegistryReader>
    private static var options: [Setting<RegistryReader>] {
        Setting(
            "password_file", optional: \.postgres.passwordFile, .path,
            "A file with the password, read at each new connection."
        ) { field, registry in
            if registry.postgres.password != nil {
                field.error("a password is given in the URL too: leave one out")
            }
        }
        Setting(
            "schema", \.postgres.schema,
            .text(
                .text("small letters, digits and _"),
                "is not a schema's name: small letters, digits and _, at most 63, not beginning "
                    + "with a digit or pg_", isSchema), printed: \.hasOptions,
            "The schema for the tables. The first start creates it.")
        Setting(
            "pool", \.postgres.poolCount,
            .count(1...64, "each connection is a process of the server; commits are shared"),
            printed: \.hasOptions,
            "Connections for lookups and writes. One more waits for news.")
        Setting(
            "connect_timeout", \.postgres.connectTimeout,
            .duration(.milliseconds(100), .seconds(60), "each address may cost as much"),
            printed: \.hasOptions,
            "The time for a connection to each address.")
        Setting(
            "command_timeout", \.postgres.commandTimeout,
            .duration(.milliseconds(100), .seconds(60), "requests wait for it"),
            printed: \.hasOptions,
            "The time for a command. Then the request gets 503.")
        Setting(
            "stale_max", \.postgres.staleMax,
            .duration(.seconds(2), .seconds(7 * 86_400), "a revoked key may be used for as long"),
            printed: \.hasOptions,
            "How long records are cached without news from the database.")
    }

    private static func isSchema(_ text: String) -> Bool {
        (1...63).contains(text.utf8.count) && text.utf8.first?.isDigit == false
            && text.utf8.allSatisfy { $0.isLowercase || $0.isDigit || $0.isOne(of: "_") }
            && !text.hasPrefix("pg_")
    }

    private static var url: Kind<PostgresSettings> {
        Kind(.text("postgresql://user@host/database?sslmode=verify-full"), read: url) { postgres in
            postgres.hosts.isEmpty ? .absent : .text(PostgresURL.text(of: postgres))
        }
    }

    private static func url(_ field: Field) -> PostgresSettings? {
        guard var url = field.url(PostgresURL.init) else { return nil }
        for name in PostgresURL.files {
            guard let path = url.settings.parameters[name].map(field.context.files.path) else {
                continue
            }
            url.settings.parameters[name] = path
            guard case .failure(let failure) = field.context.readFile(path) else { continue }
            field.error("\(name): \(quoted(path)) cannot be read: \(failure)")
        }
        let mode = url.settings.parameters["sslmode"] ?? "prefer"
        let isFar = url.settings.hosts.contains { host in
            !host.name.hasPrefix("/") && !Endpoint.tcp(host: host.name, port: host.port).isLocal
        }
        if isFar, mode != "verify-full" {
            field.warning(
                "sslmode is \(mode): any server that answers is trusted and sees every key; "
                    + "write sslmode=verify-full")
        }
        return url.settings
    }
}
