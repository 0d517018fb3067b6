/// `redis://[user[:password]@]host[:port][/database]`, `rediss://` the same over TLS, or
/// `unix://[user[:password]@]/path`, also as `redis+unix://`.
struct RedisURL: Equatable {
    /// The port at which Redis listens by default.
    static let defaultPort: UInt16 = 6379
    /// Redis has 16 databases by default, and as many as its configuration says.
    static let databaseMax = 65_535

    var endpoint: Endpoint
    var username: String?
    var password: String?
    var database: Int?
    var hasTLS = false

    init(_ text: String) throws(Fault) {
        guard let separator = text.firstRange(of: "://") else {
            throw Fault("is not a URL: write redis://host:6379/0 or unix:///path")
        }
        let scheme = text[..<separator.lowerBound].lowercased()
        let rest = text[separator.upperBound...]
        guard !rest.contains("?"), !rest.contains("#") else {
            throw Fault(
                "has a query or fragment; in a password write ? as %3F and # as %23")
        }
        guard ["redis", "rediss", "unix", "redis+unix"].contains(scheme) else {
            throw Fault("has an unknown scheme: write redis://… or unix:///path")
        }
        hasTLS = scheme == "rediss"
        endpoint = .unix(path: "")
        let authority = try URLAuthority(rest)
        (username, password) = (authority.user, authority.password)
        if authority.hasLogin, password == nil {
            throw Fault("has a user without a password: write user:password@ or :password@")
        }
        if scheme.hasSuffix("unix") {
            guard authority.servers.isEmpty else { throw Fault("has a host: write unix:///path") }
            endpoint = try .unix(path: EndpointText.unixPath(authority.path))
        } else {
            let (host, port) = try URLAuthority.server(authority.servers, port: Self.defaultPort)
            endpoint = .tcp(host: host, port: port)
            try setDatabase(authority.path.dropFirst())
        }
    }

    private mutating func setDatabase(_ text: Substring) throws(Fault) {
        guard !text.isEmpty else { return }
        guard let number = Quantity.count(String(text)), number <= Self.databaseMax else {
            throw Fault(
                "has a path that is not a database number, 0 to \(Self.databaseMax); "
                    + "in a password write / as %2F")
        }
        database = number
    }
}
