/// The configuration of one connection.
public struct PostgresConfiguration: Hashable, Sendable {
    /// A server: a name or numeric address, or the directory of a unix socket.
    public struct Host: Hashable, Sendable {
        public var name: String
        public var port: UInt16

        public init(name: String, port: UInt16 = 5432) {
            self.name = name
            self.port = port
        }

        public var isUnix: Bool { name.hasPrefix("/") }
    }

    /// The servers, tried in this order again and again.
    public var hosts: [Host]
    public var user: String?
    public var database: String?
    public var password: String?
    /// The file of the password. It is read at each attempt to connect, so that a new password
    /// needs no restart.
    public var passwordFile: String?
    /// Further parameters of libpq, such as `sslmode`.
    public var parameters: [String: String] = [:]
    /// The time for each address, from the first packet to the last step of the opening.
    public var connectTimeout: Duration = .seconds(3)
    /// The time for a run. The server ends a statement at that time, and a moment later the
    /// connection counts as lost.
    public var commandTimeout: Duration = .seconds(5)

    public init(hosts: [Host]) { self.hosts = hosts }

    /// libpq's keywords for one address of a host. Settings of the environment that could make it
    /// block are overridden: there is no name to resolve, and no GSSAPI.
    func keywords(for target: PostgresTarget) -> [(name: String, value: String)] {
        var keywords = parameters.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        keywords.append(("host", target.host))
        if let address = target.address { keywords.append(("hostaddr", address)) }
        keywords.append(("port", String(target.port)))
        if let user { keywords.append(("user", user)) }
        if let database { keywords.append(("dbname", database)) }
        if let password = target.password { keywords.append(("password", password)) }
        keywords.append(("fallback_application_name", "sallyport"))
        keywords.append(("client_encoding", "UTF8"))
        keywords.append(("gssencmode", "disable"))
        // An idle connection notices a dead server by these.
        keywords.append(("keepalives_idle", "30"))
        keywords.append(("keepalives_interval", "10"))
        keywords.append(("keepalives_count", "3"))
        return keywords
    }
}

/// One address to connect to.
struct PostgresTarget: Hashable, Sendable {
    /// The name that the server's certificate must hold; the directory of a unix socket.
    var host: String
    /// The numeric address; nil for a unix socket.
    var address: String?
    var port: UInt16
    var password: String?
}
