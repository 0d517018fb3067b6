/// The address at which a Redis server listens.
public enum RedisEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// A numeric address or a name, with a port; IPv6 without brackets.
    case tcp(host: String, port: UInt16)
    case unix(path: String)

    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}
