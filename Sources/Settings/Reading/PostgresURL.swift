/// `postgresql://[user[:password]@][host[:port],...][/database][?name=value&...]`, as libpq reads
/// it ("Connection URIs" of its documentation), with the parameters that make sense here.
struct PostgresURL: Equatable {
    /// The port at which PostgreSQL listens by default.
    static let defaultPort: UInt16 = 5432
    /// A cluster has few servers, and a failover may wait for a time-out at each.
    static let hostCountMax = 16

    static let modes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]
    /// Parameters that are handed to libpq as they are.
    static let passed = [
        "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "ssl_min_protocol_version",
        "channel_binding", "application_name",
    ]
    static let files = ["sslrootcert", "sslcert", "sslkey", "sslcrl"]

    var settings = PostgresSettings(hosts: [])

    init(_ text: String) throws(Fault) {
        let scheme = ["postgresql://", "postgres://"].first { text.lowercased().hasPrefix($0) }
        guard let scheme else {
            throw Fault("is not one of PostgreSQL: write postgresql://user@host/database")
        }
        var rest = text.dropFirst(scheme.count)
        guard !rest.contains("#") else {
            throw Fault("has a fragment; in a password write # as %23")
        }
        if let mark = rest.firstIndex(of: "?") {
            try setParameters(rest[mark...].dropFirst())
            rest = rest[..<mark]
        }
        let authority = try URLAuthority(rest)
        (settings.user, settings.password) = (authority.user, authority.password)
        if !authority.servers.isEmpty { try setHosts(authority.servers) }
        let database = try URLAuthority.decode(authority.path.dropFirst())
        guard !database.contains("/") else {
            throw Fault("has more than a database's name behind its host")
        }
        settings.database = database.isEmpty ? nil : database
        guard !settings.hosts.isEmpty else {
            throw Fault(
                "names no host: write postgresql://user@host/database, or "
                    + "postgresql://user@/database?host=/run/postgresql")
        }
        guard settings.hosts.count <= Self.hostCountMax else {
            throw Fault("names more than \(Self.hostCountMax) hosts")
        }
    }

    private mutating func setHosts(_ text: Substring) throws(Fault) {
        guard settings.hosts.isEmpty else {
            throw Fault("names hosts twice: before the path and as host=")
        }
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            settings.hosts.append(try Self.host(part))
        }
    }

    private static func host(_ text: Substring) throws(Fault) -> PostgresSettings.Host {
        let decoded = try URLAuthority.decode(text)
        if decoded.hasPrefix("/") {
            return PostgresSettings.Host(name: try directory(decoded), port: defaultPort)
        }
        let (host, port) = try URLAuthority.server(text, port: defaultPort)
        return PostgresSettings.Host(name: host, port: port)
    }

    /// libpq appends `/.s.PGSQL.5432` to it.
    private static func directory(_ path: String) throws(Fault) -> String {
        guard path.hasPrefix("/"), path.utf8.count <= 80 else {
            throw Fault("has a host= that is not the directory of a unix socket")
        }
        return path
    }

    private mutating func setParameters(_ text: Substring) throws(Fault) {
        var taken: Set<String> = []
        for part in text.split(separator: "&", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(pair[0])
            guard pair.count == 2, !pair[1].isEmpty else {
                throw Fault("has a parameter without a value: write name=value")
            }
            guard taken.insert(name).inserted else {
                throw Fault("has the parameter \(quoted(name)) twice")
            }
            try setParameter(name, URLAuthority.decode(pair[1]))
        }
    }

    private mutating func setParameter(_ name: String, _ value: String) throws(Fault) {
        switch name {
        case "host":
            settings.hosts = try value.split(separator: ",").map { host throws(Fault) in
                PostgresSettings.Host(
                    name: try Self.directory(String(host)), port: Self.defaultPort)
            }
        case "sslmode":
            guard Self.modes.contains(value) else {
                let ending = Suggestion.ending(for: value, among: Self.modes, listing: true)
                throw Fault("has an unknown sslmode\(ending)")
            }
            settings.parameters[name] = value
        case "target_session_attrs":
            guard ["read-write", "primary", "any"].contains(value) else {
                throw Fault("asks for a standby, but a registry is written to")
            }
        case "connect_timeout", "password", "user", "dbname", "port":
            throw Fault(
                "has the parameter \(quoted(name)): it belongs in the URL's own parts, "
                    + "or beside it")
        default:
            guard Self.passed.contains(name) else {
                let ending = Suggestion.ending(
                    for: name, among: Self.passed + ["host"], listing: true)
                throw Fault("has an unknown parameter \(quoted(name))\(ending)")
            }
            settings.parameters[name] = value
        }
    }
}
