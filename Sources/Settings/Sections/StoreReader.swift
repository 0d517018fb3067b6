/// Reads `registry` and `counters`.
enum StoreReader {
    static func registry(_ field: Field) -> RegistrySettings? {
        field.section { section in
            if let postgres = section.field("postgres") {
                if let file = section.field("sqlite") {
                    file.error("a registry is kept in one place: leave out sqlite or postgres")
                }
                return PostgresReader.postgres(&section, postgres).map(RegistrySettings.postgres)
            }
            guard let file = section.required("sqlite"), let path = file.filePath() else {
                return nil
            }
            guard path != ":memory:", !path.hasPrefix("file:"), !path.hasSuffix("/") else {
                file.error("\(quoted(path)) is not the path of a file: enrolled keys must be kept")
                return nil
            }
            return RegistrySettings.sqlite(path: path)
        } ?? nil
    }

    static var registryShape: Shape {
        .section(
            [
                Entry(
                    "sqlite", .path,
                    "The path of an SQLite database. Its directory must exist and be writable."),
                Entry(
                    "postgres", .text("URL: postgresql://user@host/database?sslmode=verify-full"),
                    "A PostgreSQL that several gateways share, version 13 or later."),
            ] + PostgresReader.form.entries)
    }

    static func write(_ registry: RegistrySettings, to yaml: inout YAMLText) {
        yaml.mapping("registry") { yaml in
            switch registry {
            case .sqlite(let path): yaml.entry("sqlite", text: path)
            case .postgres(let postgres): SettingsPrinter.write(postgres, to: &yaml)
            }
        }
    }

    static func write(_ counters: CounterSettings, to yaml: inout YAMLText) {
        switch counters {
        case .embedded: yaml.entry("counters", "embedded")
        case .redis(let redis): yaml.mapping("counters") { RedisReader.write(redis, to: &$0) }
        }
    }

    static func counters(_ field: Field) -> CounterSettings? {
        guard field.isMapping else {
            return field.choice([("embedded", CounterSettings.embedded)])
        }
        return field.section { RedisReader.redis(&$0).map(CounterSettings.redis) } ?? nil
    }
}

extension KeyCacheSettings {
    static var form: Form<KeyCacheSettings> {
        Form(KeyCacheSettings()) {
            Setting(
                "records", \.recordCountMax,
                .count(1...50_000_000, "each record takes about 200 bytes in each worker"),
                "Key records kept in memory by each worker.")
        }
    }
}
