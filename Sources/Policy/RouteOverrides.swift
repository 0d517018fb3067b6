/// What a route sets instead of a general setting; nil takes the general one.
public struct RouteOverrides: Hashable, Sendable {
    /// Body bytes of one request held in memory.
    public var bodyMemoryByteCountMax: Int?
    /// For a whole request, to the head of its answer; zero for no bound.
    public var requestTimeout: Duration?
    /// Between two reads of a request body.
    public var requestBodyTimeout: Duration?
    /// The upstream's `response_timeout`.
    public var responseTimeout: Duration?
    /// The upstream's `read_timeout`.
    public var readTimeout: Duration?

    public init() {}
}
