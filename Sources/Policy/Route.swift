import Bytes

/// A path that a route answers for, in normal form.
public enum PathPattern: Hashable, Sendable {
    /// This path, with or without one trailing slash.
    case exact(String)
    /// Everything below this path (which ends in `/`), and the path itself without that slash.
    case prefix(String)
}

extension PathPattern {
    /// True if the pattern covers `path`, which is in normal form.
    public func covers(_ path: Span<UInt8>) -> Bool {
        let (text, isPrefix) =
            switch self {
            case .exact(let text): (text, false)
            case .prefix(let text): (text, true)
            }
        var pattern = Array(text.utf8)
        if isPrefix, path.count >= pattern.count {
            return ASCII.equals(path.extracting(first: pattern.count), pattern)
        }
        if ASCII.equals(path, pattern) { return true }
        // With one trailing slash more or less.
        if pattern.last == 0x2F {
            pattern.removeLast()
            return !pattern.isEmpty && ASCII.equals(path, pattern)
        }
        return ASCII.equals(path, pattern + [0x2F])
    }
}

/// One entry of `routes`.
public struct Route: Hashable, Sendable {
    public var name: String
    public var path: PathPattern
    /// The hosts that the route answers for; empty means every host.
    public var hosts: [HostPattern] = []
    /// Upper-case method names; empty means every method. `GET` stands for `HEAD` too.
    public var methods: [String]
    /// The conditions on headers, which must all hold; at most one for each name.
    public var headers: [HeaderCondition] = []
    /// The index into the settings' upstreams; nil if ``answer`` is set instead.
    public var upstream: Int?
    /// The way in which the route's upstream reads paths.
    public var pathEquivalence = PathEquivalence.exact
    /// The gateway's own answer to requests that pass ``attest``.
    public var answer: RouteAnswer?
    public var attest: RoutePolicy
    /// The plan by which the share of ``attest`` moves by itself, or nil if the configuration sets
    /// it.
    public var rollout: RolloutPlan?
    /// The change to the path on its way upstream, or nil for none.
    public var rewrite: PathRewrite?
    public var upstreamHost = UpstreamHost.preserve
    public var requestHeaders = HeaderEdits()
    public var responseHeaders = HeaderEdits()
    public var overrides = RouteOverrides()
    /// True if the route may lead to what another route guards more strictly: ``RouteWeakness``.
    public var allowsWeaker = false
    /// The longest request body, in bytes; longer ones are refused with 413.
    public var bodyByteCountMax: Int
    /// Names of the rate limits that its requests are counted against.
    public var rateLimits: [String] = []
    /// True if a request may ask for a connection of its own, both ways (RFC 6455).
    public var allowsWebSocket = false
    /// True if a request's body goes to the upstream as it comes, and is not held. Only possible if
    /// no proof is asked for.
    public var streamsBody = false
    /// The rules that the JSON body of a request must keep, whatever ``attest`` demands.
    public var bodyRules: [BodyRule] = []
    /// The treatment of a request whose client sends no more before it is answered.
    public var onClientClose = ClientCloseAction.finish
    /// Names of the quotas that its requests are charged to, in this order.
    public var quotas: [String] = []
    /// True if the upstream is told what is left of them.
    public var tellsQuotas = false
    /// True if its refusals tell clients the cause.
    public var tellsCause = false

    public init(
        name: String, path: PathPattern, methods: [String], upstream: Int?, attest: RoutePolicy,
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
