import TLS

/// A Redis that keeps counters: its servers, and the settings of the connections.
public struct RedisSettings: Hashable, Sendable {
    public enum Place: Hashable, Sendable {
        case server(Endpoint)
        /// Sentinels, which know the server.
        case sentinel(RedisSentinelSettings)
        /// Some servers of a cluster, which know the others.
        case cluster([Endpoint])

        /// Servers or Sentinels, as the configuration names them.
        public var servers: [Endpoint] {
            switch self {
            case .server(let endpoint): [endpoint]
            case .sentinel(let sentinel): sentinel.addresses
            case .cluster(let addresses): addresses
            }
        }

        public var isCluster: Bool {
            if case .cluster = self { true } else { false }
        }
    }

    public var place: Place
    public var login: RedisLogin
    public var tls: UpstreamTLSSettings?
    public var database: Int
    public var clientName = "sallyport"
    public var connectTimeout: Duration = .seconds(1)
    public var commandTimeout: Duration = .milliseconds(500)
    public var inFlightCountMax = 4096
    public var wait: RedisWaitSettings?
    public var keyLifetime: Duration = .seconds(30 * 24 * 3600)

    public init(
        endpoint: Endpoint, username: String? = nil, password: String? = nil, database: Int = 0
    ) {
        place = .server(endpoint)
        login = RedisLogin(username: username, password: password)
        self.database = database
    }

    /// The settings without the parts that a reload may change: passwords, and the files of TLS.
    var fixedPart: RedisSettings {
        var fixed = self
        fixed.login = login.fixedPart
        fixed.tls = tls?.fixedPart
        if case .sentinel(var sentinel) = place {
            sentinel.login = sentinel.login.fixedPart
            sentinel.tls = sentinel.tls?.fixedPart
            fixed.place = .sentinel(sentinel)
        }
        return fixed
    }
}

/// The user and password to log in with. Both are nil for no login.
public struct RedisLogin: Hashable, Sendable {
    public var username: String?
    public var password: String?
    /// The file that `password` was read from.
    public var passwordPath: String?

    public init(username: String? = nil, password: String? = nil, passwordPath: String? = nil) {
        self.username = username
        self.password = password
        self.passwordPath = passwordPath
    }

    fileprivate var fixedPart: RedisLogin { RedisLogin() }
}

public struct RedisSentinelSettings: Hashable, Sendable {
    public var addresses: [Endpoint]
    public var masterName: String
    public var login: RedisLogin
    public var tls: UpstreamTLSSettings?

    public init(
        addresses: [Endpoint], masterName: String, login: RedisLogin = RedisLogin(),
        tls: UpstreamTLSSettings? = nil
    ) {
        self.addresses = addresses
        self.masterName = masterName
        self.login = login
        self.tls = tls
    }
}

/// The number of replicas that should have an accepted counter, and the time to wait for them.
public struct RedisWaitSettings: Hashable, Sendable {
    public var replicaCount = 1
    public var timeout: Duration = .milliseconds(50)
}

extension UpstreamTLSSettings {
    /// Whether there is TLS and how the server's name is checked, but not by which files.
    fileprivate var fixedPart: UpstreamTLSSettings {
        var fixed = self
        fixed.authoritiesPath = nil
        fixed.revocationsPath = nil
        fixed.files = nil
        fixed.configuration.authorities = nil
        fixed.configuration.identity = nil
        return fixed
    }
}

extension CounterSettings {
    /// True if a reload may replace these settings with `next`.
    public func mayBecome(_ next: CounterSettings) -> Bool {
        if case .redis(let redis) = self, case .redis(let other) = next {
            return redis.fixedPart == other.fixedPart
        }
        return self == next
    }
}

extension RedisSettings {
    /// Whether a password was written into the configuration itself.
    var hasPrintedPassword: Bool {
        var logins = [login]
        if case .sentinel(let sentinel) = place { logins.append(sentinel.login) }
        return logins.contains { $0.password != nil && $0.passwordPath == nil }
    }
}
