/// A path that a route answers for, in normal form.
public enum PathPattern: Hashable, Sendable {
    /// This path, with or without one trailing slash.
    case exact(String)
    /// Everything below this path (which ends in `/`), and the path itself without that slash.
    case prefix(String)
}

/// One entry of `routes`.
public struct Route: Hashable, Sendable {
    public var name: String
    public var path: PathPattern
    /// Hosts it answers for; empty means every host.
    public var hosts: [HostPattern] = []
    /// Upper-case method names; empty means every method. `GET` stands for `HEAD` too.
    public var methods: [String]
    /// Conditions on headers, which must all hold; one for a name.
    public var headers: [HeaderCondition] = []
    /// Index into the settings' upstreams; nil where ``answer`` stands in its place.
    public var upstream: Int?
    public var attest: AttestPolicy
    /// What becomes of the path on its way upstream; nil to leave it.
    public var rewrite: PathRewrite?
    /// Whether it may lead to what another route guards more strictly: ``RouteWeakness``.
    public var allowsWeaker = false
    /// The longest request body, in bytes; longer ones are refused with 413.
    public var bodyByteCountMax: Int

    public init(
        name: String, path: PathPattern, methods: [String], upstream: Int?, attest: AttestPolicy,
        bodyByteCountMax: Int
    ) {
        self.name = name
        self.path = path
        self.methods = methods
        self.upstream = upstream
        self.attest = attest
        self.bodyByteCountMax = bodyByteCountMax
    }
}
