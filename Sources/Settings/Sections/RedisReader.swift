import TLS

/// Reads `counters.redis`: a URL with its options beside it, or a mapping that holds all.
enum RedisReader {
    /// `counters` as a mapping.
    static func redis(_ section: inout Section) -> RedisSettings? {
        guard let field = section.required("redis") else { return nil }
        guard field.isMapping else {
            let url = url(field)
            var settings = url?.settings ?? start
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
            var settings = start
            readOptions(&section, &settings, url: nil, field: field)
            return nil
        }
        for other in places.dropFirst() {
            other.context.error(
                "\(other.path): stands beside \(placeField.path): one of them is enough",
                at: other.keyMark)
        }
        let place = place(placeField)
        var settings = start
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
        return field.section { readSentinel(field, &$0).map { .sentinel($0) } } ?? nil
    }

    private static func readSentinel(
        _ field: Field, _ section: inout Section
    ) -> RedisSentinelSettings? {
        let addresses = addresses(&section)
        let master = section.required("master").flatMap(word)
        var read = self.sentinel.start
        self.sentinel.read(&section, into: &read)
        let login = read.login
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
        if let database = section.field("database") {
            if url?.hasDatabase == true {
                database.error("is given in the URL too: leave one out")
            }
            settings.database = Self.database.read(database) ?? 0
        }
        form.read(&section, into: &settings)
        readTLS(&section, &settings, url: url, field: field)
    }

    /// What stands beside the place; ``readOptions(_:_:url:field:)`` reads what depends on the URL.
    private static var form: Form<RedisSettings> {
        Form(start) {
            login(of: start, \.login)
            Setting(
                "database", database.shape, standard: "0", "The number of the database."
            ) { redis, yaml in
                database.write("database", redis.database, &yaml)
            }
            Setting(
                "client_name", \.clientName, .text(.text("visible ASCII"), word),
                "What CLIENT LIST shows.")
            Setting(
                "tls", UpstreamTLSReader.form.shape, "TLS to the servers, as upstreams.NAME.tls."
            ) { redis, yaml in
                if let tls = redis.tls { UpstreamTLSReader.write(tls, to: &yaml) }
            }
            Setting(
                "connect_timeout", \.connectTimeout,
                .duration(.milliseconds(10), .seconds(60), "requests wait for it"),
                "For a connection.")
            Setting(
                "command_timeout", \.commandTimeout,
                .duration(.milliseconds(10), .seconds(60), "requests wait for it"),
                "After that the outcome is unknown, and the answer is 503.")
            Setting(
                "in_flight_max", \.inFlightCountMax,
                .count(1...1_000_000, "each command in flight holds memory"),
                "Commands of each worker. Beyond, the answer is 503 at once.")
            Setting(
                "key_lifetime", \.keyLifetime,
                .duration(
                    .seconds(3600), .seconds(10 * 366 * 24 * 3600),
                    "a copy of a key is told by its counter for as long"),
                "How long a device's counter is kept after its last request.")
            Setting(
                "wait", wait.shape,
                "How many replicas should have an accepted counter; fewer are counted, not "
                    + "refused. Left out: none.", read: readWait
            ) { redis, yaml in
                if let value = redis.wait { Kind.section(wait).write("wait", value, &yaml) }
            }
        }
    }

    private static let start = RedisSettings(endpoint: .unix(path: ""))

    private static var database: Kind<Int> {
        .count(0...RedisURL.databaseMax, "Redis has 16 by default")
    }

    private static var wait: Form<RedisWaitSettings> {
        Form(RedisWaitSettings()) {
            Setting(
                "replicas", \.replicaCount, .count(1...16, "each request waits for them"),
                "How many replicas.")
            Setting(
                "timeout", \.timeout,
                .duration(.milliseconds(1), .seconds(30), "each request waits as long"),
                "For how long they are waited for; shorter than command_timeout.")
        }
    }

    private static func readWait(_ section: inout Section, _ redis: inout RedisSettings) {
        let commandTimeout = redis.commandTimeout
        redis.wait = section.field("wait")?.section { section in
            var value = RedisWaitSettings()
            wait.read(&section, into: &value)
            if value.timeout >= commandTimeout {
                section.field("timeout")?.error(
                    "is not shorter than command_timeout, \(Quantity.describe(commandTimeout)): "
                        + "Redis would be taken for dead")
            }
            return value
        }
    }

    // MARK: how both forms are printed and described

    static func write(_ redis: RedisSettings, to yaml: inout YAMLText) {
        yaml.mapping("redis") { yaml in
            switch redis.place {
            case .server(let endpoint): yaml.entry("address", text: endpoint.description)
            case .sentinel(let sentinel):
                yaml.mapping("sentinel") { self.sentinel.write(sentinel, to: &$0) }
            case .cluster(let addresses):
                yaml.mapping("cluster") {
                    $0.entry("addresses", list: addresses.map(\.description))
                }
            }
            form.write(redis, to: &yaml)
        }
    }

    /// `counters` as a mapping.
    static var shape: Shape {
        let addresses = Entry(
            "addresses", .list(.text("host:port or [v6]:port")), required: true,
            "Some of the servers, which know the others.")
        let places = [
            Entry("address", .server, "The server; or one of sentinel and cluster instead."),
            Entry("sentinel", sentinel.shape, "Sentinels, which know the server."),
            Entry("cluster", .section([addresses]), "A cluster."),
        ]
        let url = Shape.text(
            "URL: redis://[user[:password]@]host[:port][/database], rediss:// the same over TLS, "
                + "or unix:///path")
        func redis(_ shape: Shape, _ about: String) -> Entry {
            Entry("redis", shape, required: true, about)
        }
        return .either([
            .section(
                [redis(url, "A Redis that several gateways share, with the options beside it.")]
                    + form.entries),
            .section([redis(.section(places + form.entries), "The same as one mapping.")]),
        ])
    }

    private static var sentinel: Form<RedisSentinelSettings> {
        let start = RedisSentinelSettings(addresses: [], masterName: "")
        return Form(start) {
            Setting(
                "addresses", .list(.text("host:port or [v6]:port")), required: true,
                "Some of the Sentinels."
            ) { sentinel, yaml in
                yaml.entry("addresses", list: sentinel.addresses.map(\.description))
            }
            Setting(
                "master", shown: \.masterName, .text("visible ASCII"), required: true,
                "The name of the master.")
            login(of: start, \.login)
            Setting("tls", UpstreamTLSReader.form.shape, "TLS to the Sentinels.") {
                sentinel, yaml in
                if let tls = sentinel.tls { UpstreamTLSReader.write(tls, to: &yaml) }
            }
        }
    }

    private static func login<Root>(
        of start: Root, _ path: WritableKeyPath<Root, RedisLogin>
    ) -> Form<Root> {
        Form(start) {
            Setting(
                "username", .text("text"),
                "As whom to log in, together with a password; taken as it is."
            ) { section, root in
                readLogin(&section, &root[keyPath: path])
            } write: { root, yaml in
                if let name = root[keyPath: path].username { yaml.entry("username", text: name) }
            }
            Setting("password_file", .path, "Holds the password in its one line.") { root, yaml in
                if let path = root[keyPath: path].passwordPath {
                    yaml.entry("password_file", text: path)
                }
            }
            Setting("password", .text("text"), "The password; better in password_file.") {
                root, yaml in
                let login = root[keyPath: path]
                if login.password != nil, login.passwordPath == nil {
                    yaml.entry("password", text: SettingsPrinter.passwordMask)
                }
            }
        }
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
