public import AppleServices
public import HTTPSClient
public import TLS

/// How Apple's own services are asked: who signs in, and the way there.
@dynamicMemberLookup
public struct AppleSettings: Hashable, Sendable {
    /// A key and the file that it was read from.
    public struct KeyFile: Hashable, Sendable {
        public var key: AppleKey
        public var path: String

        public init(key: AppleKey, path: String) {
            self.key = key
            self.path = path
        }
    }

    /// Of each team in the order in which they are tried.
    public var keys: [KeyFile]
    public var way = Way()
    public var authorities: TLSAuthorities

    /// What may be left out.
    public struct Way: Hashable, Sendable {
        public var authorization = AppleAuthorization.bare
        public var proxy = HTTPSConfiguration.Proxy.environment
        /// Nil: the system's.
        public var authoritiesPath: String?
        public var attestationData = AppleHosts.attestationData
        public var deviceCheck = AppleHosts.deviceCheck
        /// A worldwide service is near.
        public var connectTimeout: Duration = .seconds(5)
        /// Apple answers within a second or so.
        public var timeout: Duration = .seconds(15)
        /// Requests to each of the two services: at 100 ms each, hundreds a second.
        public var inFlightCountMax = 64
    }

    public subscript<Value>(dynamicMember path: KeyPath<Way, Value>) -> Value {
        way[keyPath: path]
    }

    public init(keys: [KeyFile], authorities: TLSAuthorities) {
        self.keys = keys
        self.authorities = authorities
    }

    /// The teams that somebody can sign in for.
    public var teamIDs: Set<String> { Set(keys.map(\.key.teamID)) }

    public var configuration: AppleConfiguration {
        var https = HTTPSConfiguration(authorities: authorities)
        https.proxy = way.proxy
        https.connectTimeout = way.connectTimeout
        https.timeout = way.timeout
        https.inFlightCountMax = way.inFlightCountMax
        var configuration = AppleConfiguration(keys: keys.map(\.key), https: https)
        configuration.attestationData = way.attestationData
        configuration.deviceCheck = way.deviceCheck
        configuration.authorization = way.authorization
        return configuration
    }
}

extension AppleSettings {
    /// Whether the URL of the proxy holds a password.
    var hasPrintedPassword: Bool {
        guard case .url(let url) = way.proxy else { return false }
        return ProxyURL(url)?.hasPassword == true
    }
}
