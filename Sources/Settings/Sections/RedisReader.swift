import TLS

/// Reads `counters.redis`: a URL with its options beside it, or a mapping that holds all.
enum RedisReader {
    /// `counters` as a mapping.
    static func redis(_ section: inout Section) -> RedisSettings? {
        guard let field = section.required("redis") else { return nil }
        guard field.isMapping else {
            let url = url(field)
            var settings = url?.settings ?? RedisSettings(endpoint: .unix(path: ""))
            readOptions(&section, &settings, url: url, field: field)
            if url != nil { checkLogin(settings.login, field) }
            return url == nil ? nil : settings
        }
        return field.section { mapping(field, &$0) } ?? nil
    }

    private struct URL {
        let settings: RedisSettings
        let hasTLS: Bool
        let hasDatabase: Bool
    }

    private static func url(_ field: Field) -> URL? {
        guard let text = field.text() else { return nil }
        do throws(RedisURL.Fault) {
            let url = try RedisURL(text.value)
            return URL(
                settings: RedisSettings(
                    endpoint: url.endpoint, username: url.username, password: url.password,
                    database: url.database ?? 0),
                hasTLS: url.hasTLS, hasDatabase: url.database != nil)
        } catch {
            field.error("the URL \(error.message)")
            return nil
        }
    }

    // MARK: the mapping

    private static func mapping(_ field: Field, _ section: inout Section) -> RedisSettings? {
        let places = ["address", "sentinel", "cluster"].compactMap { section.field($0) }
        guard let placeField = places.first else {
            field.error("names no server: write address, sentinel or cluster")
            var settings = RedisSettings(endpoint: .unix(path: ""))
            readOptions(&section, &settings, url: nil, field: field)
            return nil
        }
        for other in places.dropFirst() {
            other.context.error(
                "\(other.path): stands beside \(placeField.path): one of them is enough",
                at: other.keyMark)
        }
        let place = place(placeField)
        var settings = RedisSettings(endpoint: .unix(path: ""))
        if let place { settings.place = place }
        readOptions(&section, &settings, url: nil, field: field)
        section.field("username").map { checkLogin(settings.login, $0) }
        if settings.place.isCluster, settings.database != 0 {
            section.field("database")?.error("a cluster has database 0 only")
        }
        return place == nil ? nil : settings
    }

    private static func place(_ field: Field) -> RedisSettings.Place? {
        if field.path.hasSuffix("address") { return field.serverEndpoint().map { .server($0) } }
        if field.path.hasSuffix("cluster") {
            return field.section { section in addresses(&section).map { .cluster($0) } } ?? nil
        }
        return field.section { sentinel($0.path, field, &$0).map { .sentinel($0) } } ?? nil
    }

    private static func sentinel(
        _ path: String, _ field: Field, _ section: inout Section
    ) -> RedisSentinelSettings? {
        let addresses = addresses(&section)
        let master = section.required("master").flatMap(word)
        var login = RedisLogin()
        readLogin(&section, &login)
        section.field("username").map { checkLogin(login, $0) }
        let tls = section.field("tls").flatMap {
            UpstreamTLSReader.tls($0, servers: addresses ?? [])
        }
        guard let addresses, let master else { return nil }
        return RedisSentinelSettings(
            addresses: addresses, masterName: master, login: login, tls: tls)
    }

    private static func addresses(_ section: inout Section) -> [Endpoint]? {
        guard let field = section.required("addresses") else { return nil }
        let endpoints = field.list { element -> Endpoint? in
            guard let endpoint = element.serverEndpoint() else { return nil }
            guard case .tcp = endpoint else {
                element.error("a unix socket cannot be named to others: write host:port")
                return nil
            }
            return endpoint
        }
        if let endpoints, endpoints.isEmpty {
            field.error("names no server")
            return nil
        }
        return endpoints
    }

    /// What stands in commands and in Redis' own files: no spaces, nothing to quote.
    private static func word(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        guard text.value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            field.error("\(text.shown) holds other than visible ASCII characters")
            return nil
        }
        return text.value
    }

    // MARK: what both forms have

    private static func readOptions(
        _ section: inout Section, _ settings: inout RedisSettings, url: URL?, field: Field
    ) {
        readLogin(&section, &settings.login)
        if let database = section.field("database") {
            if url?.hasDatabase == true {
                database.error("is given in the URL too: leave one out")
            }
            settings.database =
                database.count(0...RedisURL.databaseMax, "Redis has 16 by default") ?? 0
        }
        section.set("client_name", &settings.clientName, word)
        readTLS(&section, &settings, url: url, field: field)
        section.set("connect_timeout", &settings.connectTimeout) {
            $0.duration(.milliseconds(10), .seconds(60), "requests wait for it")
        }
        section.set("command_timeout", &settings.commandTimeout) {
            $0.duration(.milliseconds(10), .seconds(60), "requests wait for it")
        }
        section.set("in_flight_max", &settings.inFlightCountMax) {
            $0.count(1...1_000_000, "each command in flight holds memory")
        }
        section.set("key_lifetime", &settings.keyLifetime) {
            $0.duration(
                .seconds(3600), .seconds(10 * 366 * 24 * 3600),
                "a copy of a key is told by its counter for as long")
        }
        if let field = section.field("wait") {
            settings.wait = field.section { wait($0.path, &$0, settings.commandTimeout) }
        }
    }

    private static func wait(
        _ path: String, _ section: inout Section, _ commandTimeout: Duration
    ) -> RedisWaitSettings {
        var wait = RedisWaitSettings()
        section.set("replicas", &wait.replicaCount) {
            $0.count(1...16, "each request waits for them")
        }
        section.set("timeout", &wait.timeout) {
            $0.duration(.milliseconds(1), .seconds(30), "each request waits as long")
        }
        if wait.timeout >= commandTimeout {
            section.field("timeout")?.error(
                "is not shorter than command_timeout, \(Quantity.describe(commandTimeout)): "
                    + "Redis would be taken for dead")
        }
        return wait
    }

    private static func checkLogin(_ login: RedisLogin, _ field: Field) {
        if login.username != nil, login.password == nil {
            field.error("a user without a password: Redis logs in with both")
        }
    }

    private static func readLogin(_ section: inout Section, _ login: inout RedisLogin) {
        let given = login
        if let field = section.field("username"), let text = field.text() {
            if given.username != nil { field.error("is given in the URL too: leave one out") }
            login.username = text.value
        }
        if let field = section.field("password"), let text = field.text() {
            if given.password != nil { field.error("is given in the URL too: leave one out") }
            login.password = text.value
        }
        if let field = section.field("password_file"), let read = passwordFile(field) {
            if login.password != nil {
                field.error("a password is given as well: leave one out")
            }
            (login.passwordPath, login.password) = read
        }
    }

    /// The first line of the file, which must be its only one.
    private static func passwordFile(_ field: Field) -> (path: String, password: String)? {
        guard let (path, bytes) = field.fileContents() else { return nil }
        var line = bytes[...]
        if line.last == 0x0A { line.removeLast() }
        if line.last == 0x0D { line.removeLast() }
        guard !line.isEmpty, line.count <= passwordByteCountMax,
            !line.contains(where: { $0 < 0x20 || $0 == 0x7F }),
            let password = String(validating: line, as: UTF8.self)
        else {
            field.error(
                "\"\(path)\" does not hold a password: one line of text, at most "
                    + "\(passwordByteCountMax) bytes")
            return nil
        }
        return (path, password)
    }

    /// Beyond any that people or programs make; a file of another kind is noticed.
    private static let passwordByteCountMax = 4096

    private static func readTLS(
        _ section: inout Section, _ settings: inout RedisSettings, url: URL?, field: Field
    ) {
        let servers = settings.place.servers
        guard let tlsField = section.field("tls") else {
            if url?.hasTLS == true { settings.tls = UpstreamTLSReader.standard(field) }
            return
        }
        if case .server(.unix) = settings.place, url != nil || field.isMapping {
            tlsField.context.error(
                "\(tlsField.path): Redis has no TLS at a unix socket", at: tlsField.keyMark)
        } else if let url, !url.hasTLS {
            tlsField.context.error(
                "\(tlsField.path): the URL is one without TLS: write rediss://",
                at: tlsField.keyMark)
        }
        settings.tls = UpstreamTLSReader.tls(tlsField, servers: servers.filter { !$0.isUnix })
    }
}
