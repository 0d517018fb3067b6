/// What a route sets instead of a general setting; nil takes the general one.
public struct RouteOverrides: Hashable, Sendable {
    /// Body bytes of one request held in memory.
    public var bodyMemoryByteCountMax: Int?
    /// Between two reads of a request body.
    public var requestBodyTimeout: Duration?
    /// The upstream's `response_timeout`.
    public var responseTimeout: Duration?

    public init() {}
}
