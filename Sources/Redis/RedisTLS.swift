public import TLS

/// The TLS settings of connections to a server.
public struct RedisTLS: Hashable, Sendable {
    public let context: TLSClientContext
    /// The name to ask for and to find in the certificate; nil for the server's own host.
    public var serverName: String?

    public init(context: TLSClientContext, serverName: String? = nil) {
        self.context = context
        self.serverName = serverName
    }

    public static func == (left: RedisTLS, right: RedisTLS) -> Bool {
        left.serverName == right.serverName
            && left.context.configuration == right.context.configuration
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(serverName)
        hasher.combine(context.configuration)
    }
}
