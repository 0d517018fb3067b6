/// Reads `registry` where it is in PostgreSQL.
enum PostgresReader {
    static func postgres(_ section: inout Section, _ field: Field) -> PostgresSettings? {
        let read = url(field)
        var settings = read ?? PostgresSettings(hosts: [])
        form.read(&section, into: &settings)
        return read == nil ? nil : settings
    }

    /// What stands beside the URL.
    static var form: Form<PostgresSettings> {
        Form(PostgresSettings(hosts: [])) {
            Setting(
                "password_file", .path, "Holds the password. Read at each new connection."
            ) { section, settings in
                if let file = section.field("password_file"), let path = file.filePath() {
                    if settings.password != nil {
                        file.error("a password is given in the URL too: leave one out")
                    }
                    settings.passwordFile = path
                }
            } write: { settings, yaml in
                if let path = settings.passwordFile { yaml.entry("password_file", text: path) }
            }
            Setting(
                "schema", \.schema, .text(.text("small letters, digits and _"), schema),
                "The schema that holds the registry's tables; made at the first start.")
            Setting(
                "pool", \.poolCount,
                .count(1...64, "each connection is a process of the server; commits are shared"),
                "Connections for look-ups and writes. One more waits for news.")
            Setting(
                "connect_timeout", \.connectTimeout,
                .duration(.milliseconds(100), .seconds(60), "each address may cost as much"),
                "For each address.")
            Setting(
                "command_timeout", \.commandTimeout,
                .duration(.milliseconds(100), .seconds(60), "requests wait for it"),
                "After that the outcome is unknown, and the answer is 503.")
            Setting(
                "stale_max", \.staleMax,
                .duration(
                    .seconds(2), .seconds(7 * 86_400), "a revoked key may be used for as long"),
                "Cached records are used for no longer without news.")
        }
    }

    private static func url(_ field: Field) -> PostgresSettings? {
        guard let text = field.text() else { return nil }
        let url: PostgresURL
        do throws(PostgresURL.Fault) {
            url = try PostgresURL(text.value)
        } catch {
            field.error("the URL \(error.message)")
            return nil
        }
        for name in PostgresURL.files {
            guard let path = url.settings.parameters[name],
                case .failure(let failure) = field.context.readFile(path)
            else { continue }
            field.error("\(name): \(quoted(path)) cannot be read: \(failure)")
        }
        let mode = url.settings.parameters["sslmode"] ?? "prefer"
        let isFar = url.settings.hosts.contains { host in
            !host.name.hasPrefix("/") && !Endpoint.tcp(host: host.name, port: host.port).isLocal
        }
        if isFar, mode != "verify-full" {
            field.warning(
                "sslmode is \(mode): whoever answers is believed and sees every key; write "
                    + "sslmode=verify-full")
        }
        return url.settings
    }

    private static func schema(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        let bytes = Array(text.value.utf8)
        let isWord = bytes.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x5F
        }
        guard isWord, bytes.count <= 63, let first = bytes.first, first > 0x39,
            !text.value.hasPrefix("pg_")
        else {
            field.error(
                "\(text.shown) is not a schema's name: small letters, digits and _, at most 63, "
                    + "not beginning with a digit or pg_")
            return nil
        }
        return text.value
    }
}
