/// Declares `counters.redis`: a URL with its options beside it, or a mapping that holds all.
struct RedisReader {
    private var settings = RedisSettings(endpoint: .unix(path: ""))
    /// The URL, if there is one.
    private var url: RedisURL?
    private var floors = FloorSettings()

    static var kind: Kind<CounterKeeping> {
        let beside = Form(RedisReader()) {
            Setting(
                "redis", \.self, url, required: true,
                "A Redis that several gateways share: a URL with the other settings beside it and "
                    + "percent-encoded user and password, or a mapping.")
            options.map { $0.like("counters.redis") }
            CounterReader.options(\.floors)
        }
        let byURL = Kind.section(beside) { section, redis in
            guard let url = redis.url, let field = section.field("redis") else { return }
            checkLogin(redis.settings.login, field)
            if url.hasTLS, section.field("tls") == nil {
                redis.settings.tls = UpstreamTLSReader.standard(field)
            }
        }
        let mapping = Kind.section(
            Form(RedisReader()) {
                Setting(
                    "redis", \.server, Kind.section(whole, check: check), required: true,
                    "A Redis that several gateways share, as one mapping.")
                CounterReader.options(\.floors)
            })
        return byURL.printed { _ in false }.or(mapping) { $0.node("redis")?.isMapping == true }
            .map(
                { CounterKeeping(store: .redis($0.settings), floors: $0.floors) },
                from: { keeping in
                    guard case .redis(let settings) = keeping.store else { return nil }
                    return RedisReader(settings: settings, floors: keeping.floors)
                })
    }

    /// The settings in the mapping at `redis`.
    private var server: RedisReader {
        get { self }
        set {
            settings = newValue.settings
            url = newValue.url
        }
    }

    private static var url: Kind<RedisReader> {
        let form = Shape.text(
            "redis://[user[:password]@]host[:port][/database], rediss:// the same over TLS, or "
                + "unix:///path")
        return Kind(form) { field in
            field.url(RedisURL.init).map { url in
                let settings = RedisSettings(
                    endpoint: url.endpoint, username: url.username, password: url.password,
                    database: url.database ?? 0)
                return RedisReader(settings: settings, url: url)
            }
        } yaml: { _ in
            .absent
        }
    }

    // MARK: the mapping

    private static var whole: Form<RedisReader> {
        let server = Kind<Endpoint>.server.map(
            { RedisSettings.Place.server($0) },
            from: { if case .server(let endpoint) = $0 { endpoint } else { nil } })
        let sentinels = Kind.section(sentinel) { section, sentinel in
            section.field("username").map { checkLogin(sentinel.login, $0) }
        }.map(
            { RedisSettings.Place.sentinel($0) },
            from: { if case .sentinel(let sentinel) = $0 { sentinel } else { nil } })
        let cluster = Kind.section(
            "addresses", addresses, "Some of the servers. They name the others."
        ).map(
            { RedisSettings.Place.cluster($0) },
            from: { if case .cluster(let addresses) = $0 { addresses } else { nil } })
        return Form(RedisReader()) {
            Setting(
                "address", \.settings.place, server, standard: "",
                "The server. Or write sentinel or cluster.")
            Setting(
                "sentinel", \.settings.place, sentinels, "Sentinels, which know the server.")
            Setting("cluster", \.settings.place, cluster, "A Redis cluster.")
            options
        }
    }

    private static func check(_ section: inout Section, _ redis: inout RedisReader) {
        let places = ["address", "sentinel", "cluster"].compactMap { section.field($0) }
        if places.isEmpty {
            section.error("names no server: write address, sentinel or cluster")
        }
        for other in places.dropFirst() {
            other.error(
                "stands beside \(places[0].path): one of them is enough", at: other.keyMark)
        }
        if places.contains(where: { section.context.isFaulty($0.path) }) { section.fail() }
        section.field("username").map { checkLogin(redis.settings.login, $0) }
        if redis.settings.place.isCluster, redis.settings.database != 0 {
            section.field("database")?.error("a cluster has database 0 only")
        }
    }

    private static var sentinel: Form<RedisSentinelSettings> {
        Form(RedisSentinelSettings(addresses: [], masterName: "")) {
            Setting(
                "addresses", \.addresses, addresses, required: true, "Some of the Sentinels.")
            Setting("master", \.masterName, word, required: true, "The master's name.")
            login(\.login)
            Setting(
                "tls", optional: \.tls, of: { tls(to: $0.addresses) }, "TLS to the Sentinels.")
        }
    }

    private static var addresses: Kind<[Endpoint]> {
        let server = Kind<Endpoint>.server
        let address = Kind(.text("host:port or [v6]:port")) { field in
            guard let endpoint = server.read(field) else { return nil }
            if case .tcp = endpoint { return endpoint }
            field.error("a unix socket cannot be named to others: write host:port")
            return nil
        } yaml: {
            server.yaml($0)
        }
        return .list(address, empty: "names no server")
    }

    /// A word for commands and for Redis' own files: no spaces, nothing to quote.
    private static var word: Kind<String> {
        .text(.text("visible ASCII"), "holds characters other than visible ASCII", \.isVisible)
    }

    private static func tls(to servers: [Endpoint]) -> Kind<UpstreamTLSSettings> {
        UpstreamTLSReader.kind(to: servers.filter { !$0.isUnix }).like("upstreams.NAME.tls")
    }

    // MARK: what both forms have

    @FormBuilder<RedisReader>
    private static var options: [Setting<RedisReader>] {
        login(\.settings.login)
        Setting(
            "database", \.settings.database,
            .count(0...RedisURL.databaseMax, "Redis has 16 by default"), "The database's number."
        ) { field, redis in
            if redis.url?.database != nil {
                field.error("is given in the URL too: leave one out")
            }
        }
        Setting(
            "client_name", \.settings.clientName, word, "The name that CLIENT LIST shows.")
        Setting(
            "tls", optional: \.settings.tls, of: { tls(to: $0.settings.place.servers) },
            "TLS to the servers."
        ) { field, redis in
            if case .server(.unix) = redis.settings.place {
                field.error("Redis has no TLS at a unix socket", at: field.keyMark)
            } else if let url = redis.url, !url.hasTLS {
                field.error("the URL is one without TLS: write rediss://", at: field.keyMark)
            }
        }
        Setting(
            "connect_timeout", \.settings.connectTimeout,
            .duration(.milliseconds(10), .seconds(60), "requests wait for it"),
            "The time for a connection.")
        Setting(
            "command_timeout", \.settings.commandTimeout,
            .duration(.milliseconds(10), .seconds(60), "requests wait for it"),
            "The time for a command. Then the request gets 503.")
        Setting(
            "in_flight_max", \.settings.inFlightCountMax,
            .count(1...1_000_000, "each command in flight holds memory"),
            "Commands in flight of each worker. More requests get 503.")
        Setting(
            "key_lifetime", \.settings.keyLifetime,
            .duration(
                .seconds(7200), .seconds(10 * 366 * 24 * 3600),
                "a copy of a key is recognized by its counter for as long"),
            "How long a counter is kept after its last request.")
        Setting(
            "wait", optional: \.settings.wait, of: { wait(within: $0.settings.commandTimeout) },
            "How many replicas should have an accepted counter. Too few are counted, not refused.")
    }

    private static func wait(within commandTimeout: Duration) -> Kind<RedisWaitSettings> {
        let form = Form(RedisWaitSettings()) {
            Setting(
                "replicas", \.replicaCount, .count(1...16, "each request waits for them"),
                "How many replicas.")
            Setting(
                "timeout", \.timeout,
                .duration(.milliseconds(1), .seconds(30), "each request waits as long"),
                "How long to wait. Shorter than command_timeout."
            ) { field, wait in
                guard wait.timeout >= commandTimeout else { return }
                field.error(
                    "is not shorter than command_timeout, \(Quantity.describe(commandTimeout)): "
                        + "Redis would be taken for dead")
            }
        }
        return .section(form)
    }

    // MARK: the login

    @FormBuilder<Root>
    private static func login<Root>(
        _ path: WritableKeyPath<Root, RedisLogin>
    ) -> [Setting<Root>] {
        let text = Kind.text(.text("text")) { $0.text()?.value }
        Setting(
            "username", optional: path.appending(path: \.username),
            of: { text.once($0[keyPath: path].username) },
            "The user, which needs a password. Nothing is decoded.")
        Setting(
            "password", optional: path.appending(path: \.password),
            of: { root in
                let login = root[keyPath: path]
                return Kind(text.shape, read: text.once(login.password).read) { _ in
                    login.passwordPath == nil ? .text(SettingsPrinter.passwordMask) : .absent
                }
            }, "The password. Prefer password_file.")
        Setting(
            "password_file", optional: path.appending(path: \.passwordPath), .path,
            "A file with the password, read again by a reload."
        ) { field, root in
            guard let password = field.secretFile(password) else { return }
            if root[keyPath: path].password != nil {
                field.error("a password is given as well: leave one out")
            }
            root[keyPath: path].password = password
        }
    }

    /// `field` has the password beside it. A password that cannot be read has been reported.
    private static func checkLogin(_ login: RedisLogin, _ field: Field) {
        let isFaulty = ["password", "password_file"].contains(where: field.isFaulty(beside:))
        if login.username != nil, login.password == nil, login.passwordPath == nil, !isFaulty {
            field.error("a user without a password: Redis logs in with both")
        }
    }

    /// The longest password. It is longer than people or programs make them, so a longer line shows
    /// that the file is of another kind.
    private static let passwordByteCountMax = 4096

    /// The first line of a file, which must be its only one.
    private static func password(_ path: String, _ bytes: [UInt8]) throws(Fault) -> String {
        var line = bytes[...]
        if line.last == 0x0A { line.removeLast() }
        if line.last == 0x0D { line.removeLast() }
        guard !line.isEmpty, line.count <= passwordByteCountMax,
            !line.contains(where: \.isControl),
            let password = String(validating: line, as: UTF8.self)
        else {
            throw Fault(
                "does not hold a password: one line of text, at most \(passwordByteCountMax) bytes")
        }
        return password
    }
}

extension Kind where Value == String {
    /// This kind, with a report if the URL has `given` a value already.
    fileprivate func once(_ given: String?) -> Kind {
        checked { field, _ in
            if given != nil { field.error("is given in the URL too: leave one out") }
        }
    }
}
