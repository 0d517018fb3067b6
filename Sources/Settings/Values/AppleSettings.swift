public import AppleServices
public import HTTPSClient
public import TLS

/// The settings for Apple's own services: the keys to sign in with, and the connections.
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

    public let way: Way
    public let authorities: TLSAuthorities

    /// The values of the section.
    public struct Way: Hashable, Sendable {
        /// The keys, for each team in the order in which they are tried.
        public var keys: [KeyFile] = []
        public var authorization = AppleAuthorization.bare
        public var proxy = HTTPSConfiguration.Proxy.environment
        /// The path of the authorities, or nil for the system's.
        public var authoritiesPath: String?
        /// Those authorities, if there are any.
        var authorities: TLSAuthorities?
        public var attestationData = AppleHosts.attestationData
        public var deviceCheck = AppleHosts.deviceCheck
        /// The time to connect. It is short, because Apple has servers near every place.
        public var connectTimeout: Duration = .seconds(5)
        /// The time for an answer. Apple usually needs about a second.
        public var timeout: Duration = .seconds(15)
        /// Concurrent requests to each of the two services: hundreds a second, at 100 ms each.
        public var inFlightCountMax = 64
    }

    public subscript<Value>(dynamicMember path: KeyPath<Way, Value>) -> Value {
        way[keyPath: path]
    }

    /// The teams that have a key to sign in with.
    public var teamIDs: Set<String> { Set(way.keys.map(\.key.teamID)) }

    public var configuration: AppleConfiguration {
        var https = HTTPSConfiguration(authorities: authorities)
        https.proxy = way.proxy
        https.connectTimeout = way.connectTimeout
        https.timeout = way.timeout
        https.inFlightCountMax = way.inFlightCountMax
        var configuration = AppleConfiguration(keys: way.keys.map(\.key), https: https)
        configuration.attestationData = way.attestationData
        configuration.deviceCheck = way.deviceCheck
        configuration.authorization = way.authorization
        return configuration
    }
}

extension AppleSettings {
    /// The password in the URL of the proxy.
    var proxyPassword: String? {
        guard case .url(let url) = way.proxy else { return nil }
        return ProxyURL(url)?.password
    }

    var hasPrintedPassword: Bool { proxyPassword != nil }
}
