import Redis
import RedisKeyStore
import Settings
import TLS

extension RedisCounterConfiguration {
    /// The configuration that the settings of Redis describe.
    init(_ settings: RedisSettings) throws(TLSError) {
        let place = settings.place
        var connection = RedisConfiguration(
            endpoints: place.servers.map(RedisEndpoint.init(_:)))
        try connection.use(settings.login, settings.tls)
        connection.database = settings.database
        connection.clientName = settings.clientName
        connection.take(settings)
        self.init(connection: connection)
        isCluster = place.isCluster
        if case .sentinel(let sentinel) = place {
            var connection = connection
            connection.username = nil
            connection.password = nil
            connection.database = 0
            try connection.use(sentinel.login, sentinel.tls)
            self.sentinel = RedisSentinelConfiguration(
                connection: connection, masterName: sentinel.masterName)
        }
        if let wait = settings.wait {
            self.wait = RedisWait(replicaCount: wait.replicaCount, timeout: wait.timeout)
        }
        deviceLifetime = settings.keyLifetime
    }
}

extension RedisConfiguration {
    fileprivate mutating func use(_ login: RedisLogin, _ tls: UpstreamTLSSettings?) throws(TLSError)
    {
        username = login.username
        password = login.password
        guard let tls else {
            self.tls = nil
            return
        }
        self.tls = RedisTLS(
            context: try TLSClientContext(tls.configuration), serverName: tls.serverName)
    }

    fileprivate mutating func take(_ settings: RedisSettings) {
        connectTimeout = settings.connectTimeout
        commandTimeout = settings.commandTimeout
        inFlightCountMax = settings.inFlightCountMax
    }
}

extension RedisEndpoint {
    fileprivate init(_ endpoint: Endpoint) {
        switch endpoint {
        case .tcp(let host, let port): self = .tcp(host: host, port: port)
        case .unix(let path): self = .unix(path: path)
        }
    }
}
