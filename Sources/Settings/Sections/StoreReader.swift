/// Reads `registry`, `counters` and `key_cache`.
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

    static func counters(_ field: Field) -> CounterSettings? {
        guard field.isMapping else {
            return field.choice([("embedded", CounterSettings.embedded)])
        }
        return field.section { RedisReader.redis(&$0).map(CounterSettings.redis) } ?? nil
    }

    static func keyCache(_ field: Field) -> KeyCacheSettings? {
        field.section { section in
            var cache = KeyCacheSettings()
            section.set("records", &cache.recordCountMax) {
                $0.count(1...50_000_000, "each record takes about 200 bytes in each worker")
            }
            return cache
        }
    }
}
