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
        return field.section { redis(&$0).map(CounterSettings.redis) } ?? nil
    }

    private static func redis(_ section: inout Section) -> RedisSettings? {
        let field = section.required("redis")
        var settings = field.flatMap(redisURL)
        var values = settings ?? RedisSettings(endpoint: .unix(path: ""))
        let credentials: [(String, WritableKeyPath<RedisSettings, String?>)] = [
            ("username", \.username), ("password", \.password),
        ]
        for (key, path) in credentials {
            guard let field = section.field(key), let text = field.text() else { continue }
            if values[keyPath: path] != nil {
                field.error("is given in the URL too: leave one out")
            }
            values[keyPath: path] = text.value
        }
        section.set("connect_timeout", &values.connectTimeout) {
            $0.duration(.milliseconds(10), .seconds(60), "requests wait for it")
        }
        section.set("command_timeout", &values.commandTimeout) {
            $0.duration(.milliseconds(10), .seconds(60), "requests wait for it")
        }
        section.set("in_flight_max", &values.inFlightCountMax) {
            $0.count(1...1_000_000, "each command in flight holds memory")
        }
        if let field, settings != nil, values.username != nil, values.password == nil {
            field.error("a user without a password: Redis logs in with both")
        }
        if settings != nil { settings = values }
        return settings
    }

    private static func redisURL(_ field: Field) -> RedisSettings? {
        guard let text = field.text() else { return nil }
        do throws(RedisURL.Fault) {
            let url = try RedisURL(text.value)
            return RedisSettings(
                endpoint: url.endpoint, username: url.username, password: url.password,
                database: url.database)
        } catch {
            field.error("the URL \(error.message)")
            return nil
        }
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
