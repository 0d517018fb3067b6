public import Bytes

/// The API by which operators' programs manage keys.
public struct AdminAPISettings: Hashable, Sendable {
    public var bind: Endpoint
    public var tokenPath = ""
    /// The tokens in the file. Each of them allows every operation.
    public var tokens: [AdminToken] = []
    public var tls: ListenerTLSSettings?

    public init(bind: Endpoint) { self.bind = bind }

    /// The listener that it is served on.
    public var listener: ListenerSettings {
        var listener = ListenerSettings(bind: bind)
        listener.tls = tls
        if tls != nil { listener.protocols = [.http2, .http1] }
        return listener
    }
}

/// A bearer token of the admin API. Only its digest is kept.
public struct AdminToken: Hashable, Sendable {
    /// The name in the audit log.
    public let name: String
    /// The token's SHA-256.
    public let digest: Bytes32

    public init(name: String, digest: Bytes32) {
        self.name = name
        self.digest = digest
    }
}

extension Settings {
    /// Every listener that may speak TLS.
    public var tlsListeners: [ListenerSettings] {
        listeners + [admin?.api?.listener].compactMap(\.self)
    }
}
