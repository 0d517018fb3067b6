/// Where a Redis server listens.
public enum RedisEndpoint: Hashable, Sendable {
    /// A numeric address or a name, and a port; IPv6 without brackets.
    case tcp(host: String, port: UInt16)
    case unix(path: String)
}
